"""The page for people: it is one file, it acts on nothing, and it says what the numbers say."""

import hashlib
import re
import sys
import xml.etree.ElementTree as ET
from base64 import b64decode, b64encode
from collections import Counter
from html import unescape
from importlib.metadata import version
from pathlib import Path

import attrs
import pytest
from examples import fast_rows
from governance.backtest.made_up import (
    NASTY,
    TYPES,
    adopted,
    compared,
    outcome,
    uncertain,
)
from jinja2 import UndefinedError
from markup import Markup

from tallystick.io.text import short
from tallystick_governance.backtest import plots, report
from tallystick_governance.backtest.candidates import MOST
from tallystick_governance.backtest.comparison import CandidateComparison
from tallystick_governance.backtest.outcome import Outcome
from tallystick_governance.backtest.text import TERMS, terminal_lines

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{}'"
MISSING = (
    "This report has no plots, because the extra “report” is not installed. "
    "To get them: pip install 'tallystick[report]', and run the back-test again."
)
TEMPLATES = Path(report.__file__).parent / "templates"
COMMAND = "tallystick backtest 'a & b.parquet' --rules rules@1.0.0 -o DIR"


def page(found: Outcome) -> str:
    return page_of(compared(found), found)


def page_of(every: list[CandidateComparison], found: Outcome) -> str:
    return report.report(found, every, COMMAND)


@pytest.fixture(scope="module")
def drawn() -> str:
    return page(outcome(many=30, replayed=True))


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
        assert root.tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.usefixtures("undrawn")
def test_a_stranger_s_text_shows_and_never_acts() -> None:
    found = outcome(many=5)
    hostile = attrs.evolve(
        found,
        history=attrs.evolve(found.history, source=NASTY),
        candidates=tuple(
            attrs.evolve(each, identity=attrs.evolve(each.identity, name=f"{NASTY}{n}"))
            for n, each in enumerate(found.candidates)
        ),
    )
    html = report.report(hostile, compared(hostile), f"score {NASTY}")
    read = Markup(html)
    assert not read.every("img")
    assert NASTY in read.text
    assert f"score {NASTY}" in read.text
    assert NASTY in {values.get("title") for values in read.every("code")}


def test_a_hostile_hotkey_does_not_break_a_picture() -> None:
    # with five miners the hostile one is among the largest
    found = compared(outcome(many=5))[0].overall
    root = ET.fromstring(plots.change(found, None).svg)  # noqa: S314  # ours
    texts = {each.text for each in root.iter("{http://www.w3.org/2000/svg}text")}
    assert any(text and short(NASTY) in text for text in texts)


@pytest.mark.usefixtures("undrawn")
def test_without_the_extra_the_page_says_how_to_get_plots_and_has_the_tables() -> None:
    made = page(outcome(many=10))
    read = Markup(made)
    assert MISSING in read.text
    assert not read.every("img")
    for name in TYPES:
        assert f"{name}: from the tier of the row to that of the column" in read.text


def test_the_page_begins_with_what_is_proposed_and_why(drawn: str) -> None:
    found = outcome(many=30, replayed=True)
    text = " ".join(Markup(drawn).text.split())
    said = found.candidates[1].proposal
    parts = [
        "What rules@1.0.1 would have changed",
        said.summary,
        said.source,
        *(each.path for each in said.changes),
        "made-up/care@2, added",
        "+ care = 1 − slope · risk",
        "360 rounds, 90 to 449, of 12 epochs, 3 to 14",
        f"tallystick {version('tallystick')}",
        "plain (made-up 2.1)",
        "In short",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


@pytest.mark.parametrize("candidates", fast_rows([1, 3], 0))
@pytest.mark.usefixtures("undrawn")
def test_each_term_is_explained_once(candidates: int) -> None:
    found = outcome(candidates=candidates, many=12)
    every = [adopted(uncertain(each)) for each in compared(found)]
    html = page_of(every, found)
    explained = re.findall(r"<dt>([^<]*)</dt><dd>([^<]*)</dd></div>", html)
    names = [name for name, meaning in explained if TERMS.get(unescape(name)) == unescape(meaning)]
    assert sorted(names) == sorted(TERMS)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("epochs", "stretches", "said"),
    [
        (300, 256, "999 draws of 300 epochs in 256 stretches; seed"),
        (1, 256, "999 draws of 360 rounds in 256 stretches; seed"),
    ],
)
def test_what_is_drawn_is_told_and_that_rounds_of_one_epoch_are_no_epochs(
    epochs: int, stretches: int, said: str
) -> None:
    found = outcome(many=12)
    each = uncertain(compared(found)[0])
    assert each.uncertainty is not None
    known = attrs.evolve(each.uncertainty, epochs=epochs, stretches=stretches)
    each = attrs.evolve(each, uncertainty=known)
    text = " ".join(Markup(report.report(found, [each], COMMAND)).text.split())
    assert said in text
    warned = "drawn from the 360 rounds of one epoch: too narrow where rounds have tasks in common"
    assert (warned in text) is (epochs == 1)
    assert any(warned in line for line in terminal_lines(found, [each])) is (epochs == 1)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("replayed", [True, False])
def test_thresholds_stand_before_and_after_in_numbers(*, replayed: bool) -> None:
    found = outcome(many=8, replayed=replayed)
    html = page(found)
    table = html[html.index("Thresholds before and after") :].partition("</table>")[0]
    cells = re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)[1:]
    rows = [" ".join(Markup(each).text.split()) for each in cells]
    last = "0.250000 0.250000 0.260000 0.270000 +0.010000"
    same = "0.250000 0.250000 0.000000"
    assert rows[0] == f"alpha, middle {last if replayed else same}"
    assert len(rows) == 2 * len(TYPES)
    kind = "those of the replay" if replayed else "those of a new network"
    assert f"Thresholds: {kind}" in Markup(html).text


@pytest.mark.usefixtures("undrawn")
def test_a_page_of_the_most_candidates_is_no_larger_than_one_can_open() -> None:
    found = outcome(candidates=MOST, many=24, swept=True)
    every = compared(found)
    html = report.report(found, every, COMMAND)
    read = Markup(html)
    headings = [v["id"] for v in read.every("h2") if (v.get("id") or "").startswith("candidate-")]
    assert headings == [f"candidate-{each.position}" for each in every]
    assert len(html) < 2_000_000


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
def test_every_miner_has_a_row_from_the_largest_gain_to_the_largest_loss() -> None:
    found = outcome(many=30)
    changes = compared(found)[0].overall.changes()
    titles = [values["title"] for values in Markup(page(found)).every("code") if values]
    expected = sorted(changes, key=lambda each: (-each.share_change, each.miner.hotkey))
    assert titles == [each.miner.hotkey for each in expected]


@pytest.mark.nightly
@pytest.mark.usefixtures("undrawn")
def test_of_too_many_miners_those_that_change_most_are_shown_with_a_note() -> None:
    found = outcome(candidates=3, many=900)
    html = page(found)
    assert "The 666 whose share changes most, of 900" in Markup(html).text
    shown = {values["title"] for values in Markup(html).every("code") if values}
    for each in compared(found):
        changes = sorted(each.overall.changes(), key=lambda e: -abs(e.share_change))
        assert {e.miner.hotkey for e in changes[:600]} <= shown


@pytest.mark.parametrize(("candidates", "swept"), fast_rows([(5, True), (2, False)], 1))
def test_candidates_stand_beside_each_other_and_the_first_have_plots(
    candidates: int, *, swept: bool
) -> None:
    found = outcome(candidates=candidates, many=6, swept=swept)
    read = Markup(page(found))
    assert len(read.every("img")) == 4 + 2 * candidates
    links = {values["href"] for values in read.every("a")}
    assert len(links) == candidates
    assert links == {f"#{v['id']}" for v in read.every("h2") if (v["id"] or "").startswith("cand")}
    assert ("axes.policy.weight = 0.005" in read.text) is swept


def test_a_history_in_which_nobody_earns_has_a_page_too() -> None:
    found = outcome(many=4)
    poor = tuple(
        attrs.evolve(
            each,
            types={
                name: attrs.evolve(t, emission=Counter(), quality=Counter())
                for name, t in each.types.items()
            },
        )
        for each in found.candidates
    )
    text = Markup(page(attrs.evolve(found, candidates=poor))).text
    assert "shares cannot be compared" in text
    assert "Concentration cannot be compared" in text
    assert "there is no order" in text
