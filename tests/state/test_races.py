"""Several processes on one store: what each does is seen whole, in one order, and happens once."""

import json
from pathlib import Path
from typing import Any

import pytest
from state.crashing import (
    EPOCHS,
    STEPS,
    Ended,
    Standing,
    begin,
    commands,
    files,
    seen_meanwhile,
    standing,
    take,
    undisturbed,
)
from state.databases import database, server, where
from state.subnet import written

from tallystick.state.ledger import Ledger
from tallystick.state.replay import verify

__all__ = ["database", "server", "where"]

pytestmark = pytest.mark.parametrize("racers", [2, pytest.param(4, marks=pytest.mark.slow)])


Alone = tuple[list[Path], list[Standing]]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Alone:
    """Files, and where a state stands that one process fed with them, step by step."""
    folder = tmp_path_factory.mktemp("alone")
    sources = files(folder, 100)
    return sources, undisturbed(str(folder / "state.db"), sources)


def answers(ended: list[Ended]) -> list[dict[str, Any]]:
    """What commands that all went well say."""
    assert [(each.status, each.err) for each in ended] == [(0, "")] * len(ended)
    return [json.loads(each.out) for each in ended]


def verified(where: str) -> None:
    with Ledger.open(where) as ledger:
        verify(ledger)


def test_of_several_that_close_an_epoch_one_closes_it(
    where: str, tmp_path: Path, racers: int, alone: Alone
) -> None:
    sources, expected = alone
    begin(where)
    for epoch in range(EPOCHS):
        with Ledger.open(where) as ledger:
            take(ledger, sources, 2 * epoch)
        close = ["epoch", "close", "--epoch", str(epoch), "--state", where, "--json"]
        said = answers(commands(tmp_path, *[close] * racers))
        assert sorted(each["already_closed"] for each in said) == [False] + [True] * (racers - 1)
        found = standing(where)
        assert {each["snapshot"] for each in said} == {found.snapshots[-1]}
        assert found == expected[2 * epoch + 2]
    verified(where)


def test_of_several_that_import_a_file_one_records_it(
    where: str, tmp_path: Path, racers: int, alone: Alone
) -> None:
    sources, expected = alone
    begin(where)
    record = ["events", "import", str(sources[0]), "--state", where, "--json"]
    said = answers(commands(tmp_path, *[record] * racers))
    assert sorted(each["recorded"] for each in said) == [0] * (racers - 1) + [100]
    assert sorted(each["duplicates"] for each in said) == [0] + [100] * (racers - 1)
    assert standing(where) == expected[1]
    verified(where)


def test_several_that_import_parts_of_a_file_record_all_of_it(
    where: str, tmp_path: Path, racers: int, alone: Alone
) -> None:
    sources, expected = alone
    begin(where)
    records = [json.loads(line) for line in sources[0].read_text().splitlines()]
    # every part has records of its own, and some that others have too
    parts = [
        written(tmp_path / f"part-{n}.jsonl", records[n::racers] + records[:20])
        for n in range(racers)
    ]
    record = [["events", "import", str(part), "--state", where, "--json"] for part in parts]
    said = answers(commands(tmp_path, *record))
    assert sum(each["recorded"] for each in said) == 100
    assert standing(where).digest == expected[1].digest
    verified(where)


def test_of_several_that_begin_a_state_one_begins_it(
    where: str, tmp_path: Path, racers: int
) -> None:
    init = ["state", "init", "--rules", "skills@1.0.0", "--state", where]
    ended = commands(tmp_path, *[init] * racers)
    assert sorted(each.status for each in ended) == [0] + [2] * (racers - 1)
    for each in ended:
        if each.status:
            assert each.err.startswith("error: ")
            assert "found a store, expected none" in each.err
    verified(where)


def test_readers_see_the_state_before_or_after_a_step(
    where: str, racers: int, alone: Alone
) -> None:
    sources, expected = alone
    known = [(each.epoch, each.entries, each.digest) for each in expected]
    begin(where)
    seen = seen_meanwhile(where, sources, racers)
    for moments in seen:
        order = [known.index(moment) for moment in moments]
        assert order == sorted(order)
        assert order[-1] == STEPS
    assert len({moment for moments in seen for moment in moments}) > 2
    verified(where)
