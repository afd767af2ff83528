"""Hooks of the documentation site: pictures from `results/`, and a check that no page loads anything from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ("results/retrieval-growth.png",)

# What a browser fetches by itself. A link that a reader may click (<a href>) is not among these.
_FETCHED = (
    r"<script[^>]*\ssrc=[\"']?([^\"'\s>]+)",
    r"<link[^>]*\srel=[\"']?(?:stylesheet|icon|preconnect|preload|dns-prefetch|manifest)[^>]*\shref=[\"']?([^\"'\s>]+)",
    r"<link[^>]*\shref=[\"']?([^\"'\s>]+)[^>]*\srel=[\"']?(?:stylesheet|icon|preconnect|preload|dns-prefetch|manifest)",
    r"<(?:img|iframe|source|video|audio|embed)[^>]*\ssrc=[\"']?([^\"'\s>]+)",
    r"url\([\"']?([^\"')]+)",
    r"@import\s+[\"']([^\"']+)",
)
_EXTERNAL = re.compile(r"^(?:https?:)?//")


def on_files(files: Any, config: Any) -> Any:
    """Add the pictures that the pages show and that lie outside of `docs/`."""
    from mkdocs.structure.files import File

    for picture in PICTURES:
        files.append(File.generated(config, picture, abs_src_path=str(ROOT / picture)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Change links that are right in the repository to those of the site."""
    markdown = markdown.replace('--8<-- "CONTRIBUTING.md"', (ROOT / "CONTRIBUTING.md").read_text())
    return markdown.replace("](../results/", "](results/").replace("](docs/", "](")


def on_post_build(config: Any) -> None:
    """Stop the build if a page would load something from another site."""
    from mkdocs.exceptions import PluginError

    requests = external_requests(Path(config["site_dir"]))
    if requests:
        raise PluginError("pages must not load anything from other sites, but: " + "; ".join(requests))


def external_requests(site: Path) -> list[str]:
    """Return every file of a built site that makes the browser ask another site, with the address."""
    requests = []
    for path in sorted(site.rglob("*")):
        if path.suffix in (".html", ".css"):
            for address in fetched(path.read_text()):
                if _EXTERNAL.match(address):
                    requests.append(f"{path.relative_to(site)} loads {address}")
    return requests


def fetched(text: str) -> list[str]:
    """Return the addresses that a browser fetches by itself when it shows this HTML or CSS.

    >>> fetched('<script src="a.js"></script> <a href="https://example.org">a link</a> <img src=b.png>')
    ['a.js', 'b.png']
    """
    return [address for pattern in _FETCHED for address in re.findall(pattern, text)]
