"""The documentation: every page is in the menu, every link leads somewhere, every public name is documented."""

import importlib.util
import pkgutil
import re
from pathlib import Path

import pytest
import yaml

import subcast as sc

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SITE = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]
LINK = re.compile(r"(?<!\\)\[[^\]]*\]\(([^)\s]+)\)")

SPEC = importlib.util.spec_from_file_location("docs_hooks", DOCS / "hooks.py")
hooks = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(hooks)


def menu(entries):
    for entry in entries:
        value = next(iter(entry.values())) if isinstance(entry, dict) else entry
        yield from menu(value) if isinstance(value, list) else [value]


def prose(path):
    """Return the text of a page without its code blocks."""
    return re.sub(r"^( *)```.*?^\1```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)


def anchors(path):
    """Return the anchors of the headings, as mkdocs makes them."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    plain = [re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings]
    return {re.sub(r"[\s-]+", "-", heading) for heading in plain}


def test_the_menu_lists_every_page_once():
    listed = list(menu(SITE["nav"]))
    assert sorted(listed) == sorted(page.relative_to(DOCS).as_posix() for page in PAGES)


@pytest.mark.parametrize("page", TEXTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_to_files_and_headings(page):
    for link in LINK.findall(prose(page)):
        if re.match(r"https?:", link):
            continue
        target, _, anchor = link.partition("#")
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{link}: there is no {file.relative_to(ROOT)}"
        if anchor:
            assert anchor in anchors(file), f"{link}: {file.name} has no such heading"


def test_links_in_contributing_also_work_in_the_site():
    assert LINK.findall(prose(ROOT / "CONTRIBUTING.md")) == ["docs/architecture.md"]
    assert hooks.on_page_markdown("[a](docs/architecture.md)") == "[a](architecture.md)"


def test_every_public_name_is_in_the_reference():
    reference = "\n".join(path.read_text() for path in (DOCS / "reference").glob("*.md"))
    documented = set(re.findall(r"^::: subcast\.(\w+)$", reference, re.MULTILINE))
    assert documented >= set(sc.__all__)


@pytest.mark.parametrize("page", sorted((DOCS / "reference").glob("*.md")), ids=lambda path: path.stem)
def test_the_reference_names_what_exists(page):
    names = re.findall(r"^::: ([\w.]+)$", page.read_text(), re.MULTILINE)
    for name in names:
        assert pkgutil.resolve_name(name) is not None
    assert names or page.stem == "index"


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md", "docs/method.md"])
def test_files_that_are_named_exist(page):
    named = re.findall(r"`((?:[\w-]+/)+[\w-]*\.?\w*)`", (ROOT / page).read_text())
    assert named
    missing = [name for name in named if not any((root / name).exists() for root in (ROOT, ROOT / "src" / "subcast"))]
    assert [name for name in missing if "NAME" not in name and name != "site/"] == []


def test_the_tree_of_the_architecture_is_that_of_the_source():
    tree = (DOCS / "architecture.md").read_text().partition("```text\n")[2].partition("```")[0]
    package = ROOT / "src" / "subcast"
    shown = set(re.findall(r"^  (\w+)/", tree, re.MULTILINE)) | {"commands"}
    assert shown == {path.parent.name for path in package.glob("*/__init__.py")}


@pytest.mark.parametrize(("page", "program"), [("traffic-day.md", "traffic_day"), ("darts.md", "wrap_darts")])
def test_a_tutorial_shows_every_section_of_its_program_and_its_output(page, program):
    included = re.findall(r'^--8<-- "([^"]+)"$', (DOCS / "tutorials" / page).read_text(), re.MULTILINE)
    text = (ROOT / "examples" / f"{program}.py").read_text()
    sections = re.findall(r"# --8<-- \[start:(\w+)\]", text)
    assert sections == re.findall(r"# --8<-- \[end:(\w+)\]", text)
    shown = [f"examples/{program}.py:{section}" for section in sections]
    assert sorted(included) == sorted([*shown, f"docs/tutorials/{program}.txt"])


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(DOCS).as_posix())
def test_no_formatter_has_changed_an_include(page):
    assert not re.search(r"--8 < --", page.read_text())  # what ruff makes of one in a block of Python


def test_the_site_loads_fonts_and_formulas_from_itself():
    assert SITE["theme"]["font"] is False
    for address in [*SITE["extra_css"], *SITE["extra_javascript"]]:
        assert (DOCS / address).is_file()
    style = (DOCS / "assets" / "katex" / "katex.min.css").read_text()
    fonts = re.findall(r"url\(([^)]+)\)", style)
    assert fonts
    assert all((DOCS / "assets" / "katex" / font).is_file() for font in fonts)


@pytest.mark.parametrize(
    "page",
    [
        '<script src="https://cdn.example.org/a.js"></script>',
        "<script async src=//cdn.example.org/a.js></script>",
        '<link rel="stylesheet" href="https://fonts.example.org/css">',
        '<link href="https://fonts.example.org" rel="preconnect">',
        '<img alt="a" src="http://example.org/a.png">',
        "<style>@import 'https://example.org/a.css';</style>",
        "<style>body { background: url(https://example.org/a.png) }</style>",
    ],
)
def test_a_page_that_loads_from_elsewhere_stops_the_build(page, tmp_path):
    (tmp_path / "index.html").write_text(page)
    assert len(hooks.external_requests(tmp_path)) >= 1


def test_links_to_click_and_own_files_do_not_stop_the_build(tmp_path):
    page = (
        '<a href="https://example.org">x</a> <script src="a.js"></script> <link rel="canonical" href="https://a.org">'
    )
    (tmp_path / "index.html").write_text(page)
    (tmp_path / "a.css").write_text("a { background: url(data:image/png;base64,AA) } b { src: url(fonts/a.woff2) }")
    assert hooks.external_requests(tmp_path) == []
