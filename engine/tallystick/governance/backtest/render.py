"""The report of a back-test: one HTML file that a council member can read without us.

It holds everything that it shows and asks for nothing: its policy forbids the browser to fetch or
to run anything. Hotkeys, names and paths are strangers' text; templates escape every value, so that
it can show as anything and never act. Without the extra ``report`` there are no plots, and the
report says how to get them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from types import ModuleType

import attrs
from jinja2 import Environment, PackageLoader, StrictUndefined

from tallystick.governance.backtest.candidate_section import CandidateSection
from tallystick.governance.backtest.comparison import CandidateComparison
from tallystick.governance.backtest.comparison_model import Outcome
from tallystick.governance.backtest.distribution import (
    gaining,
    losers,
    losing,
    relative_losers,
    relative_winners,
    winners,
)
from tallystick.governance.backtest.selection import Selection
from tallystick.io.text import short, visible
from tallystick.numbers.text import counted, decimal, grouped, percent, points, signed

_ROWS, _FEWEST = 2000, 20
"""The rows of miners in one report, and of one candidate at least."""
_DRAWN = 12
"""How many candidates have plots of their own; of more, the first ones have."""
_FOLDED = 3
"""From how many candidates on each is folded away under its name."""
_FILTERS = (
    *(counted, decimal, grouped, percent, points, signed),
    *(gaining, losing, winners, losers, relative_winners, relative_losers),
    *(short, visible),
)
"""What templates show values with, each under its own name."""


@attrs.frozen
class Page:
    """A report.

    Attributes:
        html: the whole file.
        plots: whether it has plots.
    """

    html: str = attrs.field(repr=False)
    plots: bool


@cache
def environment() -> Environment:
    """The templates of pages: every value is escaped, and one that is missing is an error."""
    found = Environment(
        loader=PackageLoader("tallystick.governance.backtest"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters.update({each.__name__: each for each in _FILTERS})
    return found


def plots() -> ModuleType | None:
    """The module `plots`; None without the extra ``report``."""
    if any(find_spec(name) is None for name in ("altair", "vl_convert")):
        return None
    from tallystick.governance.backtest import plots as found  # noqa: PLC0415  # of the extra

    return found


def report(outcome: Outcome, selection: Selection, command: str) -> Page:
    """The report of a back-test.

    Args:
        outcome: of the back-test.
        selection: the candidates, and which of them are shown in full.
        command: how to do it again.
    """
    comparisons = selection.every
    drawing, labels = plots(), _labels(comparisons)
    html = (
        environment()
        .get_template("report.html")
        .render(
            outcome=outcome,
            comparisons=comparisons,
            labels=labels,
            sections=_sections(comparisons, drawn=drawing is not None),
            plots=drawing,
            most_drawn=_DRAWN,
            command=command,
        )
    )
    return Page(html, drawing is not None)


def _sections(
    comparisons: Sequence[CandidateComparison], *, drawn: bool
) -> Iterator[CandidateSection]:
    """One after the other: what there is for each miner of a candidate is dropped with it."""
    rows = max(_FEWEST, _ROWS // max(len(comparisons), 1))
    for each in comparisons:
        yield CandidateSection(
            each,
            rows,
            drawn=drawn and each.position <= _DRAWN,
            folded=len(comparisons) >= _FOLDED,
        )


def _labels(comparisons: Sequence[CandidateComparison]) -> list[str]:
    """What is different about each, when a sweep makes them; else the names."""
    names = [each.identity.name for each in comparisons]
    changes = [
        ", ".join(f"{change.path} = {change.value}" for change in each.identity.changes)
        for each in comparisons
    ]
    swept = all(changes) and len(set(changes)) == len(changes)
    return changes if swept and len(changes) > 1 else names
