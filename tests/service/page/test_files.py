"""The files of the page: complete, without anything from elsewhere, and as strict as their policy."""

import re

import pytest

from subcast.service.page.files import CONTENT_POLICY, page_files

FILES = page_files()
TEXTS = {path: file.content.decode() for path, file in FILES.items()}
HTML = TEXTS["/"]


def test_every_file_that_is_named_exists():
    named = re.findall(r'(?:src|href)="(page/[^"]+)"', HTML)
    assert {f"/{name}" for name in named} >= {"/page/page.css", "/page/page.js"}
    assert {f"/{name}" for name in named} <= set(FILES)
    for path, text in TEXTS.items():
        if path.endswith(".js"):
            for module in re.findall(r'from "\./([^"]+)"', text):
                assert f"/page/{module}" in FILES


def test_nothing_comes_from_elsewhere():
    for path, text in TEXTS.items():
        addresses = re.findall(r"https?://[^\s\"'<>]+", text)
        assert set(addresses) <= {"http://www.w3.org/2000/svg"}, path
        assert "@import" not in text
        assert "//cdn" not in text


def test_no_script_or_style_inside_the_page():
    assert not re.search(r"<script(?![^>]*\bsrc=)", HTML)
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", HTML)
    for path, text in TEXTS.items():
        if path.endswith(".js"):
            assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text), path


@pytest.mark.parametrize("word", ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"])
def test_the_policy_is_strict(word):
    assert word in CONTENT_POLICY
    assert "unsafe" not in CONTENT_POLICY
    assert "*" not in CONTENT_POLICY


def test_headers():
    headers = FILES["/page/page.js"].headers
    assert headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert headers["Content-Security-Policy"] == CONTENT_POLICY
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert len({file.tag for file in FILES.values()}) == len(FILES)


def test_the_page_is_small():
    assert sum(len(file.content) for file in FILES.values()) < 80_000


def test_every_control_and_region_has_a_name():
    for identity in re.findall(r'aria-(?:labelledby|describedby)="([^"]+)"', HTML):
        assert f'id="{identity}"' in HTML
    for section in re.findall(r"<section[^>]*>", HTML):
        assert "aria-labelledby" in section
    assert '<html lang="en">' in HTML
    assert "width=device-width" in HTML


def test_every_element_that_the_script_asks_for_exists():
    asked = set(re.findall(r'\bby\("([\w-]+)"\)', TEXTS["/page/page.js"]))
    assert len(asked) > 20
    assert {name for name in asked if f'id="{name}"' not in HTML} == set()
