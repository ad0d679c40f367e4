"""The page for people: it is one file, it acts on nothing, and it says what the numbers say."""

import hashlib
import re
import sys
import xml.etree.ElementTree as ET
from base64 import b64decode, b64encode
from html import unescape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import attrs
import pytest
from governance.backtest.histories import COMMAND, NASTY, Records, among, backtested, network
from jinja2 import UndefinedError
from markup import Markup
from state.subnet import missed

from tallystick.numbers.text import decimal
from tallystick_governance.backtest import plots, report
from tallystick_governance.backtest.candidates import MOST
from tallystick_governance.backtest.comparison import CandidateComparison
from tallystick_governance.backtest.outcome import Outcome
from tallystick_governance.backtest.statistics import Bootstrap
from tallystick_governance.backtest.text import TERMS, terminal_lines

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{}'"
MISSING = (
    "This report has no plots, because the extra “report” is not installed. "
    "To get them: pip install 'tallystick[report]', and run the back-test again."
)
SVG = "{http://www.w3.org/2000/svg}svg"
TEMPLATES = Path(report.__file__).parent / "templates"
RULES = ("skills@1.0.0", "skills@1.1.0")
MINERS = 30
QUICK = {"weighs": False, "bootstrap": Bootstrap(0)}


def text_of(page: str) -> str:
    return " ".join(Markup(page).text.split())


@attrs.frozen
class Told:
    """A back-test, with the page that it wrote without pictures."""

    outcome: Outcome
    comparisons: tuple[CandidateComparison, ...]
    page: str
    text: str

    @classmethod
    def of(cls, folder: Path, records: Records, *rules: str, **options: Any) -> "Told":  # noqa: ANN401  # of `backtest`
        outcome, written = backtested(folder, records, *rules, **options)
        page = (folder / "out" / "report.html").read_text(encoding="utf-8")
        return cls(outcome, tuple(written.comparisons), page, text_of(page))

    @property
    def first(self) -> CandidateComparison:
        return self.comparisons[0]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """One candidate, with all that there can be on a page."""
    options = {"with_state": True, "bootstrap": Bootstrap(39), "network": network(34, 33, 20, 13)}
    return Told.of(tmp_path_factory.mktemp("whole"), among(MINERS), *RULES, **options)


@pytest.fixture(scope="module")
def drawn(whole: Told) -> str:
    return report.report(whole.outcome, whole.comparisons, COMMAND)


def test_a_page_asks_for_nothing_and_runs_no_script_but_its_own(drawn: str) -> None:
    read = Markup(drawn)
    tags = {tag for tag, _ in read.elements}
    assert not tags & {"iframe", "object", "link", "form", "svg", "base"}
    assert read.every("script") == [{}]
    digest = b64encode(hashlib.sha256(read.script.encode()).digest()).decode()
    policy = {"http-equiv": "Content-Security-Policy", "content": POLICY.format(digest)}
    assert policy in read.every("meta")
    # the digest that the policy names is that of the file, which is the same on every page
    assert read.script == (TEMPLATES / "script.js").read_text()
    assert not re.search(r"fetch|XMLHttp|import\(|innerHTML|eval|Function|location", read.script)
    for tag, values in read.elements:
        assert not any(name.startswith("on") for name in values), tag
        for address in (values.get("src"), values.get("href")):
            assert address is None or address.startswith(("data:image/svg+xml;base64,", "#"))
    assert "url(" not in drawn.replace("data:", "")
    assert "http://" not in drawn
    assert "https://" not in drawn


def test_pictures_are_svg_with_words_for_who_cannot_see_them(drawn: str) -> None:
    pictures = Markup(drawn).every("img")
    assert len(pictures) == 2
    for each in pictures:
        assert each["alt"]
        root = ET.fromstring(b64decode((each["src"] or "").partition(",")[2]))  # noqa: S314  # ours
        assert root.tag == SVG


@pytest.mark.usefixtures("undrawn")
def test_a_stranger_s_text_shows_and_never_acts(whole: Told) -> None:
    history = attrs.evolve(whole.outcome.history, source=NASTY)
    hostile = attrs.evolve(whole.outcome, history=history)
    read = Markup(report.report(hostile, whole.comparisons, f"score {NASTY}"))
    assert not read.every("img")
    assert f"score {NASTY}" in read.text
    assert f"history{NASTY}" in "".join(read.text.split("\n"))
    assert NASTY in {values.get("title") for values in read.every("code")}


def test_without_the_extra_the_page_says_how_to_get_plots_and_has_the_tables(whole: Told) -> None:
    assert MISSING in whole.text
    for name in whole.first.types:
        assert f"{name}: from the tier of the row to that of the column" in whole.text


def test_the_page_begins_with_what_is_proposed_and_why(whole: Told) -> None:
    proposal = whole.first.after.proposal
    parts = [
        "What skills@1.1.0 would have changed",
        proposal.summary,
        proposal.source,
        *(each.path for each in proposal.changes),
        *(f"{each.name}, {each.kind}" for each in proposal.formulas),
        "12 rounds, 0 to 14, of 4 epochs, 0 to 4",
        f"tallystick {version('tallystick')}",
        "skills (",
        "In short",
    ]
    places = [whole.text.index(part or "") for part in parts]
    assert places == sorted(places)


def test_each_term_is_explained_once(whole: Told) -> None:
    explained = re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd></div>", whole.page)
    names = [name for name, meaning in explained if TERMS.get(unescape(name)) == unescape(meaning)]
    assert sorted(names) == sorted(TERMS)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("epochs", "told"),
    [
        (300, "39 draws of 300 epochs in 256 stretches; seed"),
        (1, "39 draws of 15 rounds in 256 stretches; seed"),
    ],
)
def test_what_is_drawn_is_told_and_that_rounds_of_one_epoch_are_no_epochs(
    whole: Told, epochs: int, told: str
) -> None:
    assert whole.first.uncertainty is not None
    known = attrs.evolve(whole.first.uncertainty, epochs=epochs, rounds=15, stretches=256)
    shown = [attrs.evolve(whole.first, uncertainty=known)]
    text = text_of(report.report(whole.outcome, shown, COMMAND))
    assert told in text
    warned = "drawn from the 15 rounds of one epoch: too narrow where rounds have tasks in common"
    assert (warned in text) is (epochs == 1)
    lines = terminal_lines(whole.outcome, shown)
    assert any(warned in line for line in lines) is (epochs == 1)


def test_thresholds_stand_before_and_after_in_numbers(whole: Told) -> None:
    table = whole.page[whole.page.index("Thresholds before and after") :].partition("</table>")[0]
    cells = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)[1:]
    rows = [*map(text_of, cells)]
    expected = [*whole.first.thresholds]
    for row, each in zip(rows, expected, strict=True):
        assert each.before is not None
        assert each.after is not None
        ends = (each.before.first, each.after.first, each.before.last, each.after.last)
        values = " ".join(decimal(nano, 6) for nano in ends)
        assert row.startswith(f"{each.skill_type}, {each.name} {values} ")
    assert any(each.change for each in expected)


@pytest.mark.nightly
def test_a_page_of_the_most_candidates_is_no_larger_than_one_can_open(tmp_path: Path) -> None:
    sweep = (f"axes.policy.weight=0.01:0.{MOST - 2}:0.01",)
    found = Told.of(tmp_path, among(24), RULES[0], sweeps=sweep, **QUICK)
    expected = [f"candidate-{number}" for number in range(1, MOST - 1)]
    read = Markup(found.page)
    headings = [v["id"] for v in read.every("h2") if (v.get("id") or "").startswith("candidate-")]
    assert headings == expected
    assert {values["href"] for values in read.every("a")} == {f"#{each}" for each in expected}
    for each in found.comparisons:
        assert f"axes.policy.weight = {each.identity.changes[0].value}" in found.text
    assert len(found.page) < 2_000_000
    # of a sweep of one number the pictures are curves
    pictures = plots.across(found.comparisons, expected)
    assert [ET.fromstring(each.svg).tag for each in pictures] == [SVG] * 4  # noqa: S314  # ours


@pytest.mark.parametrize("name", ["altair", "vl_convert"])
def test_the_extra_is_missed_when_a_part_of_it_is(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert report.plots() is plots
    monkeypatch.setitem(sys.modules, name, None)
    assert report.plots() is None


def test_a_template_escapes_what_it_is_given_and_refuses_what_it_is_not() -> None:
    pages = report.environment()
    assert pages.from_string("{{ name }}").render(name="<b>") == "&lt;b&gt;"
    with pytest.raises(UndefinedError, match="'nmae' is undefined"):
        pages.from_string("{{ nmae }}").render(name="")
    for name in pages.list_templates():
        assert pages.loader is not None
        source, *_ = pages.loader.get_source(pages, name)
        assert not re.search(r"\bsafe\b|autoescape", source), name


@pytest.mark.usefixtures("undrawn")
def test_the_miners_that_change_most_have_rows_from_the_largest_gain_to_the_largest_loss(
    whole: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "_ROWS", 20)
    html = report.report(whole.outcome, whole.comparisons, COMMAND)
    changes = whole.first.overall.changes()
    most = sorted(changes, key=lambda each: (-abs(each.share_change), each.miner.hotkey))[:20]
    expected = sorted(most, key=lambda each: (-each.share_change, each.miner.hotkey))
    table = html[html.index("Every miner") :].partition("</table>")[0]
    titles = [unescape(title) for title in re.findall(r'<code title="([^"]*)"', table)]
    assert titles == [each.miner.hotkey for each in expected]
    assert f"The 20 whose share changes most, of {MINERS}" in html


def test_a_history_in_which_nobody_earns_has_a_page_too(tmp_path: Path) -> None:
    records = [missed(f"t{n}", f"hk-{n}", round=n) for n in range(3)]
    text = Told.of(tmp_path, records, *RULES, **QUICK).text
    assert "shares cannot be compared" in text
    assert "Concentration cannot be compared" in text
    assert "there is no order" in text
