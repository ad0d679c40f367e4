"""A dispute in many records: one nano planted in each step, located by a few tiles, judged."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from audit.large import real_record, with_row, write_large
from audit.planted import nano_more, other_digit

from tallystick.plugins.registry import installed_plugins
from tallystick_state.audit.dispute import dispute, dispute_bytes, read_dispute
from tallystick_state.audit.judgement import record_key
from tallystick_state.audit.side import Side, opened_side
from tallystick_state.audit.step_rows import StepRows, first_difference
from tallystick_state.step_roots import Key, RootedStep

MOST_TILES = 4
PLANTED: dict[RootedStep, Callable[[Any], Any]] = {
    "inputs": other_digit,
    "facts": other_digit,
    "results": nano_more("quality"),
    "deltas": nano_more("delta"),
    "reputations": nano_more("after"),
    "thresholds": nano_more("after"),
    "weights": nano_more("weight"),
}
"""In each step the row of the record that exists, or of its miner; one nano or digit more."""


def place_of(step: RootedStep, rows: StepRows) -> int:
    """Where the row of the record stands, or of its miner."""
    key = record_key(real_record())
    wanted: dict[str, Key] = {
        "deltas": key[:6],
        "reputations": key[:2],
        "weights": (key[0], "skills"),
    }
    if step == "thresholds":
        return len(rows.data) // 2
    low, high = rows.span(wanted.get(step, key))
    assert high == low + 1
    return low


def planted(mine: Side, step: RootedStep) -> Side:
    """The other side, as it is when its file is loaded."""
    rows = mine.rows(1)[step]
    assert rows is not None
    place = place_of(step, rows)
    *key, value = rows.row(place)
    return with_row(mine, 1, step, place, [*key, PLANTED[step](value)])


def located_and_judged(folder: Path, count: int, times: int = 1) -> None:
    with opened_side(write_large(folder / "a.jsonl", count, times)) as mine:
        assert mine.leaves[1].steps["results"].size == count * times
        for step in PLANTED:
            theirs = planted(mine, step)
            located(mine, theirs, step)
            found = dispute(mine, theirs, installed_plugins(), lambda _: [real_record()])
            assert (found.verdict.step, found.verdict.wrong) == (step, "b"), found.verdict
            # at a million the rows of every result are left out of a file
            if times == 1 or step != "thresholds":
                read_dispute(dispute_bytes(found), "dispute.json").check(installed_plugins())


def located(mine: Side, theirs: Side, step: RootedStep) -> None:
    """That the first difference is found by few tiles, one of them of the leaves of epochs."""
    trees = []
    for side in (mine, theirs):
        rows = side.rows(1)[step]
        assert rows is not None
        trees.append(rows.tree)
    before = [tree.reads for tree in trees]
    place = first_difference(mine, theirs)
    assert place is not None
    assert (place.epoch, place.step) == (1, step)
    for tree, reads in zip(trees, before, strict=True):
        assert tree.reads - reads + 1 <= MOST_TILES


@pytest.mark.nightly
def test_ten_thousand_records(tmp_path: Path) -> None:
    located_and_judged(tmp_path, 10_000)


@pytest.mark.nightly
def test_a_million_records(tmp_path: Path) -> None:
    located_and_judged(tmp_path, 20_000, 50)
