"""The report of a back-test: one HTML file that a council member can read without us.

It holds everything that it shows and asks for nothing: its policy forbids the browser to fetch or
to run anything. Without the extra ``report`` it has no plots, and says how to get them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files

import attrs

from tallystick.governance.backtest import plots
from tallystick.governance.backtest.candidate_section import chapter, figure
from tallystick.governance.backtest.comparison import CandidateComparison
from tallystick.governance.backtest.comparison_model import CandidateOutcome, Outcome
from tallystick.governance.backtest.glossary import WORDS
from tallystick.governance.backtest.markup import Markup, element, joined, table
from tallystick.governance.backtest.wording import count, counted, decimal, percent

TITLE = "What the rule sets would have done"
MISSING = (
    "This report has no plots, because the extra “report” is not installed. "
    "To get them: pip install 'tallystick[report]', and run the back-test again."
)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

_ROWS, _FEWEST = 2000, 20
"""The rows of miners in one report, and of one candidate at least."""
_DRAWN = 12
"""How many candidates have plots of their own; of more, the first ones have."""
_FOLDED = 3
"""From how many candidates on each is folded away under its name."""


@attrs.frozen
class Page:
    """A report.

    Attributes:
        html: the whole file.
        plots: whether it has plots.
    """

    html: str = attrs.field(repr=False)
    plots: bool


def report(outcome: Outcome, comparisons: Sequence[CandidateComparison], command: str) -> Page:
    """The report of a back-test.

    Args:
        outcome: of the back-test.
        comparisons: of every candidate but the baseline, in order.
        command: how to do it again.
    """
    drawn = plots.available()
    body = joined(
        [
            *_opening(outcome, comparisons),
            *([] if drawn else [element("p", MISSING, class_="note")]),
            *_overview(comparisons, drawn=drawn),
            *_chapters(comparisons, drawn=drawn),
            *_words(),
            *_again(outcome, command),
        ]
    )
    return Page(
        f"<!doctype html>\n{element('html', _head(), element('body', body), lang='en')}\n", drawn
    )


def _head() -> Markup:
    style = files("tallystick.governance.backtest").joinpath("style.css").read_text("utf-8")
    return element(
        "head",
        element("meta", charset="utf-8"),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", TITLE),
        element("style", Markup(style)),
    )


def _opening(outcome: Outcome, comparisons: Sequence[CandidateComparison]) -> Iterator[Markup]:
    history = outcome.history
    yield element("h1", TITLE)
    yield element(
        "p",
        f"{counted(sum(history.records.values()), 'record')} of "
        f"{counted(len(outcome.miners), 'miner')}, scored again under "
        f"{counted(len(comparisons), 'candidate')} and compared with the baseline ",
        element("strong", outcome.baseline.identity.name),
        ".",
        class_="lead",
    )
    if history.rejects:
        refused = sum(history.rejects.values())
        yield element("p", f"{counted(refused, 'line')} were no valid records and count nowhere.")


def _overview(comparisons: Sequence[CandidateComparison], *, drawn: bool) -> Iterator[Markup]:
    """All candidates in one table, and beside each other."""
    yield element("h2", "In short")
    if not comparisons:
        yield element("p", "There is no candidate: nothing is compared.")
        return
    head = (
        "candidate",
        "total",
        "changes hands",
        "gain / lose a share",
        "tau-b",
        "Gini",
        "HHI",
        "tier flips",
        "gate flips",
    )
    labels = _labels(comparisons)
    yield table(head, map(_overview_row, comparisons, labels))
    yield element("p", "Gini and HHI: baseline → candidate.", class_="note")
    if drawn and len(comparisons) > 1:
        yield figure(plots.across(comparisons, labels))


def _overview_row(found: CandidateComparison, label: str) -> Iterator[str]:
    overall = found.overall
    before, after = overall.concentration_before, overall.concentration_after
    changes = overall.changes()
    yield element("a", label, href=f"#candidate-{found.position}")
    yield decimal(overall.total_after, 1)
    yield percent(overall.moved)
    yield (
        f"{count(sum(e.share_change > 0 for e in changes))} / "
        f"{count(sum(e.share_change < 0 for e in changes))}"
    )
    yield decimal(overall.tau)
    yield f"{decimal(before.gini)} → {decimal(after.gini)}"
    yield f"{decimal(before.hhi, 4)} → {decimal(after.hhi, 4)}"
    yield count(found.tier_flips)
    yield count(found.gate_flips)


def _labels(comparisons: Sequence[CandidateComparison]) -> list[str]:
    """What is different about each, when a sweep makes them; else the names."""
    names = [each.identity.name for each in comparisons]
    changes = [
        ", ".join(f"{change.path} = {change.value}" for change in each.identity.changes)
        for each in comparisons
    ]
    swept = all(changes) and len(set(changes)) == len(changes)
    return changes if swept and len(changes) > 1 else names


def _chapters(comparisons: Sequence[CandidateComparison], *, drawn: bool) -> Iterator[Markup]:
    rows = max(_FEWEST, _ROWS // max(len(comparisons), 1))
    if drawn and len(comparisons) > _DRAWN:
        yield element(
            "p",
            f"The first {_DRAWN} candidates have plots of their own; to see those of another, run "
            "the back-test with it alone.",
            class_="note",
        )
    folded = len(comparisons) >= _FOLDED
    for each in comparisons:
        yield chapter(each, rows, drawn=drawn and each.position <= _DRAWN, folded=folded)


def _words() -> Iterator[Markup]:
    yield element("h2", "What the words mean")
    yield element(
        "dl",
        *(joined([element("dt", word), element("dd", said)]) for word, said in WORDS.items()),
    )


def _again(outcome: Outcome, command: str) -> Iterator[Markup]:
    """What was compared, by digest, and how to do it again."""
    yield element("h2", "What was compared, and how to do it again")
    yield table(("rule set", "digest"), map(_rule_set, outcome.candidates))
    yield element(
        "p",
        "The history is ",
        element("code", outcome.history.source),
        ", digest ",
        element("code", outcome.history.digest),
        ". The same records and rule sets give the same numbers to the last digit, on any machine:",
    )
    yield element("pre", command)
    yield element(
        "p",
        "Everything is beside this file: summary.json has these numbers with nine decimal places, "
        "miners.parquet every miner, migrations.parquet the tiers, flips.parquet every record that "
        "flips.",
    )


def _rule_set(found: CandidateOutcome) -> Iterator[str]:
    yield found.identity.name
    yield element("code", found.identity.digest)
