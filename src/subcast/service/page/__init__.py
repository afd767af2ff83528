"""The page at `/`: plain HTML, CSS and JavaScript modules that ask the API; nothing is built and nothing is fetched."""

from subcast.service.page.files import CONTENT_POLICY, PageFile, page_files

__all__ = ["CONTENT_POLICY", "PageFile", "page_files"]
