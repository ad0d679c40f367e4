"""The pages about the service have its tables: who sees what, addresses, codes, limits, metrics."""

import ast
import re
from pathlib import Path

from manual.page import Page
from packages import sources

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
    assert {row.operator for row in ACCESS.values()} == {"always"}


def test_every_address_is_on_the_page() -> None:
    expected = [
        (f"`{'POST' if row.posted else 'GET'} {row.path}`", f"`{row.subject}`") for row in ROUTES
    ]
    assert [(row[0], row[2]) for row in cells(API, "Addresses")] == expected


def test_every_code_is_on_the_page_and_in_the_table() -> None:
    assert cells(API, "Refusals") == [[f"`{code}`", text] for code, text in CODES.items()]
    used = {
        call.args[1].value
        for path in sources("tallystick_service")
        for call in ast.walk(ast.parse(Path(path).read_text()))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in {"RefusedQuestionError", "_failed"}
        and len(call.args) > 1
        and isinstance(call.args[1], ast.Constant)
    }
    assert used <= CODES.keys()


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


def test_every_metric_is_on_the_page() -> None:
    exposition = next(
        Path(path).read_text()
        for path in sources("tallystick_service")
        if Path(path).name == "exposition.py"
    )
    made = {
        f"tallystick_{name}" for name in re.findall(r'_(?:gauges?|info)\(\s*"(\w+)"', exposition)
    }
    made |= {
        f"tallystick_{name}_total" for name in re.findall(r'_counters\(\s*"(\w+)"', exposition)
    }
    told = {span for row in cells(SERVICE, "Health and metrics") for span in row[0].split("`")}
    names = {name for name in told if name.startswith("tallystick_")}
    infos = {f"{name}_info" for name in ("tallystick_build", "tallystick_state")}
    made = (made - {"tallystick_build", "tallystick_state"}) | infos
    steps = {f"tallystick_step_seconds_{part}" for part in ("count", "sum")}
    assert names == made | steps
