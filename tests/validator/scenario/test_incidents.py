"""Incidents of a subnet: each ends in one state, or in a health that says what to do."""

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest
from validator.daemons import lines
from validator.scenario.subnets import (
    ANCHOR,
    COMMIT_BY,
    EPOCH_BLOCKS,
    VOTE_BY,
    WEIGHTS_AT,
    Subnet,
    records,
    subnet,
    tasks,
)

pytestmark = pytest.mark.nightly
HOPS = (0, 1, 5, COMMIT_BY, 13, 18, VOTE_BY, WEIGHTS_AT, 34, 165, 169)


def begin(made: Subnet) -> None:
    """Begin all validators."""
    for house in made.houses:
        house.begin()
    for house in made.houses:
        house.wait_ready()
    made.to(ANCHOR + 5)


def feed(made: Subnet, epoch: int, number: int = 8) -> set[tuple[str, str]]:
    """Have all validators take records of an epoch."""
    sent = set[tuple[str, str]]()
    for house in made.houses:
        rows = records(house.hotkey, epoch, number)
        assert house.by_socket(lines(rows)) == ["recorded"] * number
        sent |= {(house.hotkey, row["task_id"]) for row in rows}
    return sent


def go(made: Subnet, epoch: int, hops: Iterable[int] = HOPS) -> None:
    """Go through the blocks behind the end of an epoch."""
    for hop in hops:
        made.to(made.network.end_block(epoch) + hop)


def end(made: Subnet) -> None:
    """End all."""
    for house in made.houses:
        assert house.end() == 0, house.tell()


def check_rows(made: Subnet, epochs: Iterable[int]) -> None:
    """Check that each validator has one row of each epoch, and all have the same."""
    rows = made.rows()
    for epoch in epochs:
        sent = [rows[house.hotkey].get(epoch, []) for house in made.houses]
        assert [len(entries) for entries in sent] == [1] * len(sent), (epoch, sent)
        assert len({entries[0].pairs for entries in sent}) == 1, (epoch, sent)


def test_a_state_of_an_old_backup_catches_up(tmp_path: Path) -> None:
    with subnet(tmp_path) as made:
        begin(made)
        sent = feed(made, 0)
        go(made, 0)
        ben, cem = made.houses[1:]
        assert ben.end() == cem.end() == 0
        ben_backup, cem_backup = ben.folder / "backup.db", tmp_path / "backup"
        shutil.copyfile(ben.folder / "subnet.db", ben_backup)
        shutil.copytree(cem.folder, cem_backup)
        ben.begin()
        cem.begin()
        ben.wait_ready()
        cem.wait_ready()
        made.settle()
        for epoch in (1, 2):
            sent |= feed(made, epoch)
            go(made, epoch)
        assert ben.end() == cem.end() == 0
        # of one the state alone, of the other all files
        shutil.copyfile(ben_backup, ben.folder / "subnet.db")
        shutil.rmtree(cem.folder)
        shutil.copytree(cem_backup, cem.folder)
        ben.begin()
        cem.begin()
        made.settle()
        made.act_again()
        assert {house.open_epoch() for house in made.houses} == {3}
        sent |= feed(made, 3)
        go(made, 3)
        end(made)
        assert len({house.digest() for house in made.houses}) == 1
        for house in made.houses:
            assert tasks(house.exported()) == dict.fromkeys(sent, 1)
        # a journal of before knows nothing of the row of the newest epoch, which comes again
        again = made.rows()[cem.hotkey][2]
        assert len(again) == 2
        assert len({entry.pairs for entry in again}) == 1
        check_rows(made, (0, 1, 3))


def test_a_fork_that_takes_ballots_and_rows_back_changes_nothing(tmp_path: Path) -> None:
    with subnet(tmp_path) as made:
        begin(made)
        sent, retracted = feed(made, 0), set[str]()
        end_block = made.network.end_block(0)
        made.to(end_block)
        # the ballots are in the block that comes, which a fork takes back
        made.to(end_block + 1)
        retracted |= {entry.kind for entry in made.chain.fork(2)}
        go(made, 0, (2, 3, 5, 8, COMMIT_BY, COMMIT_BY + 1))
        retracted |= {entry.kind for entry in made.chain.fork(2)}
        go(made, 0, (13, 16, 18, VOTE_BY, WEIGHTS_AT, WEIGHTS_AT + 1))
        retracted |= {entry.kind for entry in made.chain.fork(2)}
        go(made, 0, (34, 165, 169, 200))
        assert retracted == {"commitment", "row"}
        sent |= feed(made, 1)
        go(made, 1)
        end(made)
        assert len({house.digest() for house in made.houses}) == 1
        for house in made.houses:
            assert tasks(house.exported()) == dict.fromkeys(sent, 1)
        check_rows(made, (0, 1))
        assert made.network.end_block(0) == ANCHOR + EPOCH_BLOCKS
