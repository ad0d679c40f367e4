"""A dispute in many records: one nano planted in each step, located by a few tiles, judged."""

from pathlib import Path

import pytest
from audit.large import real_record, write_large
from audit.planted import Change, nano_more, other_digit, planted

from tallystick.audit.comparison import first_difference
from tallystick.audit.dispute import dispute
from tallystick.audit.dispute_file import dispute_bytes, read_dispute
from tallystick.audit.records import record_key
from tallystick.audit.side import Side, opened_side
from tallystick.plugins.registry import installed_plugins
from tallystick.state.step_roots import Key, Row, row_key

MOST_TILES = 4
PLANTED = {
    "inputs": other_digit,
    "facts": other_digit,
    "results": nano_more("quality"),
    "deltas": nano_more("delta"),
    "reputations": nano_more("after"),
    "thresholds": nano_more("after"),
    "weights": nano_more("weight"),
}
"""In each step the row of the record that exists, or of its miner; one nano or digit more."""


def of_the_record(step: str) -> Change:
    key = record_key(real_record())
    wanted: dict[str, Key] = {
        "deltas": key[:6],
        "reputations": key[:2],
        "weights": (key[0], "skills"),
    }

    def changed(rows: list[Row]) -> None:
        fits = wanted.get(step, key)
        place = (
            len(rows) // 2
            if step == "thresholds"
            else next(n for n, row in enumerate(rows) if row_key(row) == fits)
        )
        *found, value = rows[place]
        rows[place] = [*found, PLANTED[step](value)]

    return changed


def located_and_judged(folder: Path, count: int) -> None:
    source = write_large(folder / "a.jsonl", count)
    with opened_side(source) as mine:
        for step in PLANTED:
            other = planted(source, folder / "b.jsonl", 1, step, of_the_record(step))
            with opened_side(other) as theirs:
                located(mine, theirs, step)
                found = dispute(mine, theirs, installed_plugins(), lambda _: [real_record()])
            assert (found.verdict.step, found.verdict.wrong) == (step, "b"), found.verdict
            # at a million the rows of every result are left out of a file
            if count <= 10_000 or step != "thresholds":
                read_dispute(dispute_bytes(found), "dispute.json").check(installed_plugins())


def located(mine: Side, theirs: Side, step: str) -> None:
    """That the first difference is found by few tiles, one of them of the leaves of epochs."""
    trees = []
    for side in (mine, theirs):
        rows = side.rows(1)[step]  # type: ignore[index]  # one of the steps
        assert rows is not None
        trees.append(rows.tree)
    before = [tree.reads for tree in trees]
    place = first_difference(mine, theirs)
    assert place is not None
    assert (place.epoch, place.step) == (1, step)
    for tree, reads in zip(trees, before, strict=True):
        assert tree.reads - reads + 1 <= MOST_TILES


def test_ten_thousand_records(tmp_path: Path) -> None:
    located_and_judged(tmp_path, 10_000)


@pytest.mark.slow
def test_a_million_records(tmp_path: Path) -> None:
    """Several minutes: seven steps are planted, written and read anew, two gigabytes each time."""
    located_and_judged(tmp_path, 1_000_000)
