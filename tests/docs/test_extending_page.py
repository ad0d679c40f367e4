"""``docs/extending.md`` builds the project that ``tests/third_party/test_reviews.py`` installs."""

from manual.page import ROOT, Page

PROJECT = ROOT / "tests" / "third_party" / "tallystick-reviews"


def test_the_files_of_the_page_are_those_of_the_project() -> None:
    shown = {b.title: b.text for b in Page.of("docs/extending.md").blocks() if b.title}
    paths = [path for path in PROJECT.rglob("*") if path.suffix in {".py", ".json", ".toml"}]
    files = {path.relative_to(PROJECT).as_posix(): path.read_text() for path in paths}
    assert shown == files
