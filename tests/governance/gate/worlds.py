"""Policies, rule sets and worlds for the gate, written out in the tests."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from pathlib import Path

import attrs
from governance.lint.linted import SOUND
from governance.revision import changed

import tallystick
from tallystick.scoring.scorer import Scorer
from tallystick_governance.gate.gate import Verdict, ask
from tallystick_governance.gate.measurement import (
    DeviationFigures,
    MeasuredOn,
    NotAskedError,
    Pair,
    WeightFigures,
)
from tallystick_governance.gate.policy import read

HEAD = 'format = 1\nname = "council"\n'
"""The keys that every policy has."""
FREE = changed(
    SOUND,
    ("workflow/success@2", "workflow/success@1"),
    ("workflow/reliability@2", "workflow/reliability@1"),
    ("success = 0.6, reliability = 0.4", "success = 0.9, reliability = 0.1"),
)
"""A rule set that pays a tenth for nothing, which lint warns of and which breaks a promise."""
SILENCE = """
[[lint.silence]]
code = "free-points"
path = "skill_types.workflow"
reason = "a tenth for being there is what the subnet voted for"
figures = { quality = 0.1 }
"""


NETWORK = MeasuredOn("network", seeds=(7,), epochs=3)


@attrs.frozen
class World:
    """A source whose figures are given; a figure of None cannot be asked."""

    figures: tuple[WeightFigures, ...] | None = None
    best: tuple[DeviationFigures, ...] | None = None
    measured_on: MeasuredOn = attrs.field(init=False, default=NETWORK)

    def weights(self) -> tuple[WeightFigures, ...]:
        if self.figures is None:
            raise NotAskedError("no weights here")
        return self.figures

    def deviations(self, _strategies: Collection[str]) -> tuple[DeviationFigures, ...]:
        if self.best is None:
            raise NotAskedError("no deviations here")
        return self.best


def world(
    weights: Mapping[str, tuple[str, str]] | None = None,
    *,
    moved: str = "0",
    not_exercised: tuple[str, ...] = (),
    nobody: tuple[str, str] = ("0", "0"),
    **emission: tuple[str, str],
) -> World:
    """A world of one seed; every number is text, such as 1/3."""
    named = {name: _pair(ends) for name, ends in (weights or {}).items()}
    types = {name: _pair(ends) for name, ends in emission.items()}
    whole = tuple(sum((pair[side] for pair in types.values()), Fraction(0)) for side in (0, 1))
    figures = WeightFigures(
        (whole[0], whole[1]),
        Fraction(moved),
        _pair(nobody),
        named,
        types if emission else None,
        not_exercised,
    )
    return World((figures,))


def deviating(strategy: str, before: str, after: str, *unpaid: str) -> World:
    """A world in which a deviation is worth a multiple of honest work."""
    return World(best=(DeviationFigures({strategy: _pair((before, after))}, unpaid),))


def _pair(ends: tuple[str, str]) -> Pair:
    return Fraction(ends[0]), Fraction(ends[1])


def rules(folder: Path, text: str, version: str = "1.0.0") -> Scorer:
    """A rule set of some text and version."""
    path = folder / f"{len(list(folder.iterdir()))}.toml"
    path.write_text(changed(text, ('version = "1.0.0"', f'version = "{version}"')), "utf-8")
    return tallystick.load(str(path))


def asked(
    folder: Path, clauses: str, old: Scorer, new: Scorer, source: World | None = None
) -> Verdict:
    """The answer of the gate by a policy of some clauses."""
    path = folder / "policy.toml"
    path.write_text(HEAD + clauses, encoding="utf-8")
    return ask(read(str(path)), old, new, source or World())
