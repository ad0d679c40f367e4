"""Comparison: the first epoch, step and row in which two logs of epochs differ.

From the top level of tiles down, the first hash that differs leads to the tile below; where all
that both have are the same, the next place does. What stands before the first difference is the
same on both sides, so it is right too where a row is missing. No row is read on the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import attrs

from tallystick_state.audit.step_rows import StepRows
from tallystick_state.step_roots import STEPS, EpochLeaf, Step
from tallystick_state.trust.merkle import HASH_SIZE, TILE_WIDTH, TileTree


class Compared(Protocol):
    """What is compared of a side."""

    @property
    def leaves(self) -> tuple[EpochLeaf, ...]:
        """The leaf of each closed epoch."""

    def rows(self, epoch: int) -> Mapping[Step, StepRows | None]:
        """The rows of each step of an epoch; None of those that the side lacks."""


@attrs.frozen
class Place:
    """Where two logs differ first.

    Attributes:
        epoch: the epoch.
        step: the step; None where rules, the snapshot or a step that a side lacks differ.
        row: the place of the row in its step.
        passed: steps that one side lacks, which were passed over.
    """

    epoch: int
    step: Step | None = None
    row: int | None = None
    passed: tuple[Step, ...] = ()


def first_difference(a: Compared, b: Compared) -> Place | None:
    """Where two logs differ first, as far as both go; None where they do not.

    Salts are not compared.
    """
    unsalted = (
        (attrs.evolve(x, salt=None), attrs.evolve(y, salt=None))
        for x, y in zip(a.leaves, b.leaves, strict=False)
    )
    for epoch, (mine, theirs) in enumerate(unsalted):
        if mine != theirs:
            return _within(epoch, mine, theirs, a, b)
    return None


def _within(epoch: int, mine: EpochLeaf, theirs: EpochLeaf, a: Compared, b: Compared) -> Place:
    if (mine.rules, mine.adopted) != (theirs.rules, theirs.adopted):
        return Place(epoch)
    passed = list[Step]()
    for step in STEPS:
        roots = mine.steps[step], theirs.steps[step]
        if None in roots and roots[0] != roots[1]:
            passed.append(step)
        elif roots[0] != roots[1]:
            rows = a.rows(epoch)[step], b.rows(epoch)[step]
            if rows[0] is None or rows[1] is None:
                passed.append(step)
                continue
            place = first_leaf(rows[0].tree, rows[1].tree)
            return Place(epoch, step, place, tuple(passed))
    return Place(epoch, passed=tuple(passed))


def first_leaf(a: TileTree, b: TileTree) -> int:
    """The first place at which two trees differ, whose roots do; a tile of each level is read."""
    index = 0
    for level in reversed(range(min(a.height, b.height))):
        tile, place = index // TILE_WIDTH, index % TILE_WIDTH
        mine, theirs = a.tile(level, tile), b.tile(level, tile)
        while place < TILE_WIDTH and _same(mine, theirs, place):
            place += 1
        index = tile * TILE_WIDTH + place
        if level:
            index *= TILE_WIDTH
    return index


def _same(mine: bytes, theirs: bytes, place: int) -> bool:
    at = slice(place * HASH_SIZE, (place + 1) * HASH_SIZE)
    return bool(mine[at]) and mine[at] == theirs[at]
