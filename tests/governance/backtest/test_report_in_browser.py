"""The report in a real browser: how it looks, what the browser says, whether everyone can use it.

The tests need Chromium and axe-core, which ``make browser`` installs; the pictures that they take
are in ``build/screenshots``.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import ROOT, Opened, browser
from governance.backtest.histories import COMMAND, among, backtested, network
from playwright.sync_api import Browser, Locator

from tallystick_governance.backtest.report import report

pytestmark = pytest.mark.nightly
__all__ = ["browser"]
LONG = "tiers.levels[tier_2_optimised].multiplier=1.3:1.7:0.1"
SCREENSHOTS = ROOT / "build" / "screenshots"
WIDTHS, SCHEMES = (1280, 375), ("light", "dark")
PAGES: dict[str, tuple[int, dict[str, Any]]] = {
    "one": (26, {"with_state": True, "network": network(34, 33, 20, 13)}),
    "sweep": (8, {"sweeps": ("axes.policy.beta=0.4:0.6:0.1", LONG), "weighs": False}),
}
"""The back-tests whose reports are looked at: of so many miners, and how they are run.

Candidates of the sweep have long names.
"""
MORE_OF_THE_SAME = "tbody tr:nth-child(n + 5), section:nth-of-type(n + 6)"
"""Rows and candidates that look as others do: axe-core takes seconds for each."""


class Pages:
    """The reports as files, each written when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __getitem__(self, name: str) -> Path:
        path = self._folder / f"{name}.html"
        if not path.exists():
            miners, options = PAGES[name]
            rules = ("skills@1.0.0", "skills@1.1.0")[: 1 if "sweeps" in options else 2]
            folder = self._folder / name
            folder.mkdir()
            outcome, written = backtested(folder, among(miners), *rules, **options)
            path.write_text(report(outcome, written.comparisons, COMMAND), encoding="utf-8")
        return path


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    return Pages(tmp_path_factory.mktemp("reports"))


@pytest.fixture
def opened(browser: Browser, reports: Pages, request: pytest.FixtureRequest) -> Iterator[Opened]:
    name, width, scheme = getattr(request, "param", ("one", 1280, "light"))
    found = Opened(browser, reports[name].as_uri(), width, scheme)
    yield found
    found.page.close()


LOOKS = [
    pytest.param(
        (name, width, scheme),
        id=f"{name}-{width}-{scheme}",
    )
    for name in PAGES
    for width in WIDTHS
    for scheme in SCHEMES
]


@pytest.mark.parametrize("opened", LOOKS, indirect=True)
def test_a_report_looks_right_at_every_width_and_in_the_dark(
    opened: Opened, request: pytest.FixtureRequest
) -> None:
    page = opened.page
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(
        path=SCREENSHOTS / f"report-{request.node.callspec.id}.png",
        full_page=page.evaluate("document.documentElement.scrollHeight") < 16_000,
    )
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert opened.too_wide() == 0
    assert hidden(opened) == []
    assert opened.violations(exclude=[MORE_OF_THE_SAME]) == []
    assert opened.complaints == []
    # the page itself and its pictures, which it holds
    assert [each for each in opened.requests if not each.startswith(("file:", "data:image/"))] == []
    broken = "Array.from(document.images).filter(each => !each.naturalWidth || !each.alt).length"
    assert page.evaluate(broken) == 0


def hidden(opened: Opened) -> list[str]:
    """The tables of which a box that scrolls hides rows on a telephone, or columns on a desk."""
    is_wide = opened.page.evaluate("innerWidth >= 1280")
    hides = "each.scrollWidth > each.clientWidth"
    if not is_wide:
        hides = "each.scrollHeight > each.clientHeight"
    found: list[str] = opened.page.evaluate(
        f"""Array.from(document.querySelectorAll(".wide")).filter(each => {hides})
          .map(each => each.getAttribute("aria-label"))"""
    )
    return found


def test_pictures_are_as_large_as_they_were_drawn_on_a_telephone(
    browser: Browser, reports: Pages
) -> None:
    page = Opened(browser, reports["sweep"].as_uri(), 375, "light").page
    for each in page.locator("figure img").all()[:4]:
        shown, drawn = each.evaluate("each => [each.width, each.naturalWidth]")
        assert shown == drawn <= 375
    page.close()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_pages_and_pictures_are_dark_for_who_prefers_it(
    browser: Browser, reports: Pages, scheme: str
) -> None:
    page = Opened(browser, reports["sweep"].as_uri(), 1280, scheme).page
    # the average of a picture of the first plot: on a dark page it is dark
    data = page.locator("figure").first.screenshot()
    average = page.evaluate(
        """async (bytes) => {
          const picture = await createImageBitmap(new Blob([new Uint8Array(bytes)]));
          const canvas = new OffscreenCanvas(picture.width, picture.height);
          const context = canvas.getContext("2d");
          context.drawImage(picture, 0, 0);
          const pixels = context.getImageData(0, 0, picture.width, picture.height).data;
          let sum = 0;
          for (let i = 0; i < pixels.length; i += 4) sum += pixels[i + 1];
          return 4 * sum / pixels.length;
        }""",
        list(data),
    )
    assert (average > 200) if scheme == "light" else (average < 80)
    page.close()


def miners(opened: Opened) -> tuple[Locator, Locator]:
    """The table of every miner, and its rows that are shown."""
    region = opened.page.locator('[aria-label^="Every miner"]')
    return region, region.locator("tbody tr:not([hidden])")


def column(rows: Locator, place: int) -> list[str]:
    return [each.locator("th, td").nth(place).inner_text() for each in rows.all()]


def test_a_table_is_sorted_by_the_head_that_is_pressed(opened: Opened) -> None:
    region, rows = miners(opened)
    head = region.locator("thead th").nth(1)
    uids = [int(each) for each in column(rows, 1)]
    assert uids != sorted(uids)
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert [int(each) for each in column(rows, 1)] == sorted(uids, reverse=True)
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert [int(each) for each in column(rows, 1)] == sorted(uids)
    points = region.locator("thead th").nth(4)
    points.get_by_role("button").click()
    assert head.get_attribute("aria-sort") is None
    shown = [float(each.replace("−", "-")) for each in column(rows, 4)]
    assert shown == sorted(shown, reverse=True)
    assert shown[0] > 0 > shown[-1]


def test_rows_are_filtered_by_what_is_typed(opened: Opened) -> None:
    region, rows = miners(opened)
    every = rows.count()
    hotkey = region.locator("code").nth(7).get_attribute("title") or ""
    field = opened.page.locator(".filter").last.get_by_role("searchbox")
    # the middle of a hotkey, which is not shown
    field.fill(hotkey[15:30].upper())
    assert rows.count() == 1
    assert rows.locator("code").get_attribute("title") == hotkey
    assert opened.page.locator(".filter output").last.inner_text() == f"1 of {every}"
    field.fill("no such row")
    assert rows.count() == 0
    field.fill("")
    assert rows.count() == every


def test_without_scripts_every_row_is_there_and_no_control_is_dead(
    browser: Browser, reports: Pages
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(reports["one"].as_uri())
    assert page.locator('[aria-label^="Every miner"] tbody tr').count() == 26
    assert page.locator("button, input").count() == 0
    context.close()
