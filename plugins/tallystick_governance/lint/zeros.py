"""Checks of what makes a composite 0, and of the score of an empty answer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product

from tallystick.formula.domain import Domain
from tallystick.formula.evaluate import Facts
from tallystick.numbers.nano import to_text
from tallystick.rules.findings import Finding
from tallystick.scoring.bound import BoundType, reads_answer
from tallystick.scoring.lint import check, more
from tallystick.scoring.scorer import Scorer
from tallystick_governance.lint.type_probe import TypeProbe, values_of
from tallystick_governance.ranges import composite_range

_TASKS = 256
"""Maximum number of different tasks that are tried."""


@check("axis-zeroes-everything", "warning", more("axes"))
def _axis_zeroes_everything(scorer: Scorer) -> Iterator[Finding]:
    """An axis whose zero zeroes the composite.

    In a geometric mean, one axis of 0 makes the whole composite 0: a single failure costs as much
    as having done nothing. Axes are listed that can be 0 and with which the composite, before its
    gates, is 0 whatever the other axes are. A type of one axis is left out.

    Remedy: give such an axis a floor above 0, weigh it arithmetically, or accept it with a reason.
    """
    for bound in scorer.types.values():
        axes = [a.name for a in bound.axes if values_of(bound, a).low == 0]
        zeroing = [n for n in axes if composite_range(bound, {n: (0, 0)})[1] == 0]
        if zeroing and len(bound.axes) > 1 and composite_range(bound, {})[1] > 0:
            yield Finding(
                _path(bound),
                f"a zero of any of {', '.join(zeroing)} makes the composite of {bound.name} 0, "
                "whatever the other axes are",
                {"skill_type": bound.name, "axes": zeroing},
            )


@check("free-points", "warning", more("quality"))
def _free_points(scorer: Scorer) -> Iterator[Finding]:
    """A composite above 0 for an answer in which nothing was done.

    Every fact of the answer is at its lowest: no step done, nothing found, nothing spent. The
    composite is computed for many tasks that the requirements allow, and the lowest is shown; where
    it is above 0, doing nothing is paid for each of them.

    Remedy: let the axes that are full for nothing be 0 until something was done.
    """
    for bound in scorer.types.values():
        probe = TypeProbe(bound)
        idle = [(probe.quality(facts), facts) for facts in _idle(probe)]
        least, facts = min(idle, key=_by_quality, default=(0, {}))
        if least > 0:
            yield Finding(
                _path(bound),
                f"a record of {bound.name} in which every fact of the answer is at its lowest "
                f"scores {to_text(least)}",
                {
                    "skill_type": bound.name,
                    "quality": to_text(least),
                    "axes": {n: to_text(v) for n, v in probe.axes(facts).items()},
                    "facts": probe.shown(facts),
                },
            )


def _by_quality(scored: tuple[int, Facts]) -> tuple[int, tuple[int, ...]]:
    quality, facts = scored
    return quality, tuple(facts.values())


def _idle(probe: TypeProbe) -> Iterator[Facts]:
    """Yield facts of records whose answer is empty, over many tasks."""
    lowest = {digest: domain.low for digest, domain in probe.domains.items()}
    options = {
        digest: (lowest[digest],) if reads_answer(fact) else _ends(probe.domains[digest])
        for digest, fact in probe.facts.items()
        if digest in probe.read
    }
    for chosen in islice(product(*options.values()), _TASKS):
        facts = {**lowest, **dict(zip(options, chosen, strict=True))}
        if probe.allows(facts):
            yield facts


def _ends(domain: Domain) -> tuple[int, ...]:
    return tuple(dict.fromkeys((domain.low, domain.high, min(domain.low + 1, domain.high))))


def _path(bound: BoundType) -> tuple[str, ...]:
    return ("skill_types", bound.name, "composite" if bound.mean is None else "weights")
