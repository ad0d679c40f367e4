"""The report of a back-test: one HTML file that a council member can read without us.

It holds everything that it shows and asks for nothing: its policy forbids the browser to fetch
anything, or to run another script than the one of the page, which is known by its digest. Hotkeys,
names and paths are strangers' text; templates escape every value, so that it can show as anything
and never act. Without the extra ``report`` there are no plots, and the report says how to get them.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from types import ModuleType

import attrs
from jinja2 import Environment, PackageLoader, StrictUndefined

from tallystick.io.text import printable, short, visible
from tallystick.numbers.text import counted, decimal, grouped, percent, points, signed
from tallystick_governance.backtest.candidate_section import CandidateSection
from tallystick_governance.backtest.comparison import CandidateComparison
from tallystick_governance.backtest.comparison_model import Outcome
from tallystick_governance.backtest.distribution import (
    gaining,
    losers,
    losing,
    winners,
)
from tallystick_governance.backtest.selection import Selection
from tallystick_governance.backtest.terms import GLOSSES, Terms
from tallystick_governance.backtest.wording import BEST_WORDS, THRESHOLDS, span, warnings

_ROWS, _FEWEST = 2000, 20
"""The rows of miners in one report, and of one candidate at least."""
_FOLDED = 3
"""From how many candidates on each is folded away under its name."""
_FILTERS = (
    *(counted, decimal, grouped, percent, points, signed),
    *(gaining, losing, winners, losers),
    *(short, visible, span, warnings),
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
    """The templates of pages: every value is escaped and can be seen; one that is missing fails."""
    found = Environment(
        loader=PackageLoader("tallystick_governance.backtest"),
        autoescape=True,
        finalize=_seen,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    found.filters.update({each.__name__: each for each in _FILTERS})
    found.globals["glosses"] = GLOSSES
    return found


def _seen(value: object) -> object:
    """What a template shows of a value: text of which every character can be seen."""
    # the type itself: what is markup already was made of such text
    return printable(value) if type(value) is str else value


def plots() -> ModuleType | None:
    """The module `plots`; None without the extra ``report``."""
    if any(find_spec(name) is None for name in ("altair", "vl_convert")):
        return None
    from tallystick_governance.backtest import plots as found  # of the extra

    return found


def report(outcome: Outcome, selection: Selection, command: str) -> Page:
    """The report of a back-test.

    Args:
        outcome: of the back-test.
        selection: the candidates, and which of them are shown in full.
        command: how to do it again.
    """
    drawing, labels = plots(), _labels(selection.every)
    sections = list(_sections(selection, labels, drawn=drawing is not None))
    pages = environment()
    html = pages.get_template("report.html").render(
        outcome=outcome,
        engine=f"tallystick {version('tallystick')}",
        comparisons=selection.every,
        shown=selection,
        best_words=BEST_WORDS[selection.best_by],
        thresholds=THRESHOLDS[outcome.thresholds],
        labels=labels,
        linked={each.position for each in selection.full},
        sections=sections,
        plots=drawing,
        terms=Terms(),
        script_digest=_script_digest(pages),
        command=command,
    )
    return Page(html, drawing is not None)


def _script_digest(pages: Environment) -> str:
    """The digest of the script, as a policy names it."""
    script = pages.get_template("script.js").render()
    return b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _sections(
    selection: Selection, labels: Sequence[str], *, drawn: bool
) -> Iterator[CandidateSection]:
    many = len(selection.full)
    rows = max(_FEWEST, _ROWS // max(many, 1))
    for place, each in enumerate(selection.full):
        yield CandidateSection(
            each,
            labels[each.position - 1],
            _standing(selection, place),
            rows,
            alone=len(selection.every) == 1,
            drawn=drawn,
            folded=many >= _FOLDED,
        )


def _standing(selection: Selection, place: int) -> str:
    """The place of a candidate among many."""
    if not selection.best:
        return ""
    every, full = len(selection.every), len(selection.full)
    rank = place + 1 if place < selection.best else every - full + place + 1
    best = BEST_WORDS[selection.best_by]
    return f"{grouped(rank)} of {counted(every, 'candidate')}: {best} is best."


def _labels(comparisons: Sequence[CandidateComparison]) -> list[str]:
    """What is different about each, when a sweep makes them; else the names."""
    names = [each.identity.name for each in comparisons]
    changes = [
        ", ".join(f"{change.path} = {change.value}" for change in each.identity.changes)
        for each in comparisons
    ]
    swept = all(changes) and len(set(changes)) == len(changes)
    return changes if swept and len(changes) > 1 else names
