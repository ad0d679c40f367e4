"""The pages about the service have its tables: who sees what, addresses, codes, limits, metrics."""

import re

from manual.page import Page
from manual.table import rows_of

from tallystick_service.access import ACCESS
from tallystick_service.answer import CODES
from tallystick_service.api import ROUTES
from tallystick_service.settings import Settings

SERVICE, API = Page.of("docs/service.md"), Page.of("docs/http-api.md")


def cells(page: Page, heading: str) -> list[list[str]]:
    lines = page.section(heading).text.splitlines()
    rows = [line.strip("|").split("|") for line in lines if line.startswith("| `")]
    return [[cell.strip() for cell in row] for row in rows]


def test_who_sees_what_is_the_table() -> None:
    expected = [[f"`{row.subject}`", row.holds, row.public, row.own] for row in ACCESS.values()]
    assert cells(SERVICE, "Who sees what") == expected


def test_every_address_is_on_the_page() -> None:
    expected = [
        (f"`{'POST' if row.posted else 'GET'} {row.path}`", f"`{row.subject}`") for row in ROUTES
    ]
    assert [tuple(row) for row in cells(API, "Addresses")] == expected


def test_every_code_is_on_the_page_with_its_status() -> None:
    found = {
        code: int(row[0])
        for row in rows_of(API.section("Refusals"))
        for code in re.findall("`([^`]+)`", row[1])
    }
    assert found == CODES


def test_the_limits_are_those_of_the_settings() -> None:
    gib = Settings().scoring_bytes >> 30
    limits, text = Settings(), SERVICE.section("Safe by default").text
    for number in (
        f"{limits.rate:g} requests a second",
        f"{limits.burst} at once",
        f"{limits.clients} clients",
        f"| {limits.connections}, {limits.client_connections} of one client;",
        f"{limits.seconds:g} s for the head",
        f"| {limits.processes} processes, {limits.scoring_seconds:g} s and {gib} GiB each",
        f"| {limits.body_bytes >> 20} MiB |",
    ):
        assert number in text
