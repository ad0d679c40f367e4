"""``docs/extending.md`` shows the project that ``tests/third_party/test_reviews.py`` installs."""

from manual.page import ROOT, Page

PROJECT = ROOT / "tests" / "third_party" / "tallystick-reviews"


def test_the_files_of_the_page_are_those_of_the_project() -> None:
    shown = {b.title: b.text for b in Page.of("docs/extending.md").blocks() if b.title}
    assert shown
    assert shown == {name: (PROJECT / name).read_text() for name in shown}
