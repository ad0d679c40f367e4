"""``docs/conformance.md`` has every check and every code of the kit."""

import re

from manual.page import Page, pages

from tallystick.diagnostics import Diagnostic
from tallystick_conformance.checks import NAMES
from tallystick_conformance.report import REMEDIES, Checked, Report

_PAGE = Page.of("docs/conformance.md")


def test_every_code_is_documented_in_the_order_of_the_kit() -> None:
    codes = _PAGE.section("Codes")
    assert codes.differs_from(list(REMEDIES), codes.spans()) == []


def test_every_check_is_documented() -> None:
    assert _PAGE.section("Checks").differs_from(list(NAMES)) == []


def test_a_page_that_says_how_many_checks_there_are_is_right() -> None:
    numbers = {name: re.findall(r"passes: (\d+) checks", Page.of(name).text) for name in pages()}
    assert {name: wrong for name, wrong in numbers.items() if {*wrong} - {str(len(NAMES))}} == {}


def test_every_field_of_the_report_is_documented() -> None:
    found = Diagnostic(code="crashed", message="m", remedy="r")
    report = Report("x", "1", checked=(Checked("facts", (found,)),)).to_dict()
    assert report.keys() | report["findings"][0].keys() <= _PAGE.words()


def test_the_option_of_pytest_is_documented() -> None:
    text = _PAGE.text
    assert "pytest --tallystick-plugin workflow" in text
    assert "`tallystick-conformance::workflow::proofs`" in text
    assert "proofs" in NAMES
