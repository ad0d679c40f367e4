"""The pages about the service have its tables: who sees what, addresses, codes, limits, metrics."""

import re

from manual.page import Page

from tallystick_service.access import ACCESS
from tallystick_service.answer import CODES
from tallystick_service.api import ROUTES

SERVICE, API = Page.of("docs/service.md"), Page.of("docs/http-api.md")


def test_who_sees_what_is_the_table() -> None:
    expected = [(f"`{row.subject}`", row.holds, row.public, row.own) for row in ACCESS.values()]
    assert SERVICE.section("Who sees what").cells() == expected


def test_every_address_is_on_the_page() -> None:
    expected = [
        (f"`{'POST' if row.posted else 'GET'} {row.path}`", f"`{row.subject}`") for row in ROUTES
    ]
    assert API.section("Addresses").cells() == expected


def test_every_code_is_on_the_page_with_its_status() -> None:
    found = {
        code: int(row[0])
        for row in API.section("Refusals").cells()
        for code in re.findall("`([^`]+)`", row[1])
    }
    assert found == CODES
