"""The page for people: it is one file, it acts on nothing, and it says what the numbers say."""

import re
import sys
import xml.etree.ElementTree as ET
from base64 import b64decode
from html.parser import HTMLParser

import attrs
import pytest
from governance.backtest.made_up import NANO, NASTY, PLAIN, TYPES, flips, outcome
from jinja2 import UndefinedError

from tallystick.governance.backtest import plots, render, wording
from tallystick.governance.backtest.comparison import CandidateComparison, DistanceTally, compare
from tallystick.governance.backtest.comparison_model import Outcome
from tallystick.governance.backtest.render import Page, environment, report
from tallystick.governance.backtest.selection import Selection
from tallystick.io.text import short

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
MISSING = (
    "This report has no plots, because the extra “report” is not installed. "
    "To get them: pip install 'tallystick[report]', and run the back-test again."
)
COMMAND = "tallystick backtest 'a & b.parquet' --rules rules@1.0.0 -o DIR"


class Reader(HTMLParser):
    """The elements of a page, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in {"img", "meta"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def every(self, tag: str) -> list[dict[str, str | None]]:
        return [values for name, values in self.elements if name == tag]


def compared(found: Outcome) -> list[CandidateComparison]:
    tally = DistanceTally()
    for position in range(1, len(found.candidates)):
        tally.add(flips(found, position))
    return [compare(found, position, tally) for position in range(1, len(found.candidates))]


def page(found: Outcome) -> Page:
    return report(found, Selection.of(compared(found), "share-moved"), COMMAND)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "plots", lambda: None)


@pytest.fixture(scope="module")
def drawn() -> str:
    return page(outcome(many=30, replayed=True)).html


def test_a_page_asks_for_nothing_and_runs_nothing(drawn: str) -> None:
    read = Reader(drawn)
    tags = {tag for tag, _ in read.elements}
    assert not tags & {"script", "iframe", "object", "link", "form", "svg", "base"}
    assert {"http-equiv": "Content-Security-Policy", "content": POLICY} in read.every("meta")
    for tag, values in read.elements:
        assert not any(name.startswith("on") for name in values), tag
        for address in (values.get("src"), values.get("href")):
            assert address is None or address.startswith(("data:image/svg+xml;base64,", "#"))
    assert "url(" not in drawn.replace("data:", "")
    assert "http://" not in drawn
    assert "https://" not in drawn


def test_pictures_are_svg_with_words_for_who_cannot_see_them(drawn: str) -> None:
    pictures = Reader(drawn).every("img")
    assert len(pictures) == 3
    for each in pictures:
        assert each["alt"]
        root = ET.fromstring(b64decode((each["src"] or "").partition(",")[2]))  # noqa: S314  # ours
        assert root.tag == "{http://www.w3.org/2000/svg}svg"


def test_the_pictures_of_a_page_repeat(drawn: str) -> None:
    assert page(outcome(many=30, replayed=True)).html == drawn


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
    shown = Selection.of(compared(hostile), "share-moved")
    html = report(hostile, shown, f"score {NASTY}").html
    read = Reader(html)
    assert not read.every("img")
    assert NASTY in read.text
    assert f"score {NASTY}" in read.text
    assert NASTY in {values.get("title") for values in read.every("code")}


def test_a_hostile_hotkey_does_not_break_a_picture() -> None:
    # with five miners the hostile one is among the largest
    found = compared(outcome(many=5))[0].overall
    root = ET.fromstring(plots.largest(found).svg)  # noqa: S314  # ours
    texts = {each.text for each in root.iter("{http://www.w3.org/2000/svg}text")}
    assert any(text and short(NASTY) in text for text in texts)


@pytest.mark.usefixtures("undrawn")
def test_without_the_extra_the_page_says_how_to_get_plots_and_has_the_tables() -> None:
    made = page(outcome(many=10))
    read = Reader(made.html)
    assert not made.plots
    assert MISSING in read.text
    assert not read.every("img")
    for name in TYPES:
        assert f"{name}: from the tier of the row to that of the column" in read.text


@pytest.mark.parametrize("name", ["altair", "vl_convert"])
def test_the_extra_is_missed_when_a_part_of_it_is(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert render.plots() is plots
    monkeypatch.setitem(sys.modules, name, None)
    assert render.plots() is None


def test_with_the_extra_the_page_does_not_speak_of_it(drawn: str) -> None:
    assert MISSING not in Reader(drawn).text


def test_the_page_says_what_the_comparison_says(drawn: str) -> None:
    found = outcome(many=30, replayed=True)
    text = Reader(drawn).text
    for each in compared(found):
        for sentence in wording.sentences(each, each.overall.changes()):
            assert sentence in text
    for candidate in found.candidates:
        assert candidate.identity.digest in text
    assert found.history.digest in text
    assert COMMAND in text
    assert all(name in text for name in (*TYPES, PLAIN))


def test_a_template_escapes_what_it_is_given_and_refuses_what_it_is_not() -> None:
    pages = environment()
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
    titles = [values["title"] for values in Reader(page(found).html).every("code") if values]
    expected = sorted(changes, key=lambda each: (-each.share_change, each.miner.hotkey))
    assert titles == [each.miner.hotkey for each in expected]


@pytest.mark.usefixtures("undrawn")
def test_of_too_many_miners_those_that_change_most_are_shown_with_a_note() -> None:
    found = outcome(candidates=3, many=900)
    html = page(found).html
    assert "The 666 whose share changes most, of 900" in Reader(html).text
    shown = {values["title"] for values in Reader(html).every("code") if values}
    for each in compared(found):
        changes = sorted(each.overall.changes(), key=lambda e: -abs(e.share_change))
        assert {e.miner.hotkey for e in changes[:600]} <= shown


@pytest.mark.parametrize(("candidates", "swept"), [(13, True), (2, False)])
def test_candidates_stand_beside_each_other_and_the_first_have_plots(
    candidates: int, *, swept: bool
) -> None:
    found = outcome(candidates=candidates, many=6, swept=swept)
    read = Reader(page(found).html)
    assert len(read.every("img")) == 1 + 3 * min(candidates, 12)
    links = {values["href"] for values in read.every("a")}
    assert links == {f"#candidate-{n}" for n in range(1, candidates + 1)}
    assert links == {f"#{v['id']}" for v in read.every("h2") if "id" in v}
    assert ("axes.policy.weight = 0.13" in read.text) is swept


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_sixty_four_candidates_over_thousands_of_miners_stay_readable() -> None:
    found = outcome(candidates=64, many=2000, swept=True)
    assert len(page(found).html) < 3_000_000


@pytest.mark.usefixtures("undrawn")
def test_a_baseline_alone_has_a_page_too() -> None:
    assert "There is no candidate" in Reader(page(outcome(candidates=0, many=3)).html).text


def test_a_history_in_which_nobody_earns_has_a_page_too() -> None:
    found = outcome(many=4)
    nothing = (0,) * len(found.miners)
    poor = tuple(
        attrs.evolve(
            each,
            types={
                name: attrs.evolve(t, emission=t.emission and nothing, quality=nothing)
                for name, t in each.types.items()
            },
        )
        for each in found.candidates
    )
    text = Reader(page(attrs.evolve(found, candidates=poor)).html).text
    assert "shares cannot be compared" in text
    assert "Concentration cannot be compared" in text
    assert "there is no order" in text


@pytest.mark.parametrize(
    ("tau", "said"),
    [
        (NANO, "is exactly the same"),
        (NANO - 1, "stays almost the same"),
        (850_000_000, "changes somewhat"),
        (0, "has little to do"),
        (-NANO, "is rather the reverse"),
    ],
)
def test_the_words_for_an_order_follow_the_number(tau: int, said: str) -> None:
    overall = attrs.evolve(compared(outcome(many=5))[0].overall, tau=tau)
    assert said in wording.order(overall, overall.changes())
