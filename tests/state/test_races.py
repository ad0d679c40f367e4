"""Several processes on one store: what each does is seen whole, in one order, and happens once."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from oracle.decimals import count
from oracle.rows import score
from state.crashing import (
    ADOPTED,
    PLAN,
    RULES,
    Ended,
    Standing,
    begin,
    commands,
    files,
    standing,
    take,
    undisturbed,
)
from state.databases import database, server, where
from state.subnet import Record, record, written

from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify

__all__ = ["database", "server", "where"]

pytestmark = [pytest.mark.nightly, pytest.mark.parametrize("racers", [2, 4])]


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
    for step, (what, epoch) in enumerate(PLAN):
        if what != "close":
            with Ledger.open(where) as ledger:
                take(ledger, sources, step)
            continue
        close = ["epoch", "close", "--epoch", str(epoch), "--state", where, "--json"]
        said = answers(commands(tmp_path, *[close] * racers))
        assert sorted(each["already_closed"] for each in said) == [False] + [True] * (racers - 1)
        found = standing(where)
        assert {each["snapshot"] for each in said} == {found.snapshots[-1]}
        assert found == expected[step + 1]
    verified(where)


@pytest.mark.process
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


def test_of_several_that_adopt_one_does_and_who_had_the_state_open_follows(
    where: str, tmp_path: Path, racers: int
) -> None:
    begin(where)
    with Ledger.open(where) as ledger:
        # everything is bound by the rules of before
        ledger.import_events(written(tmp_path / "before.jsonl", [reviewed("t0", 0)]))
        adopt = ["state", "adopt", ADOPTED, "--at-epoch", "1", "--state", where, "--json"]
        ended = commands(tmp_path, *[adopt] * racers)
        assert sorted(each.status for each in ended) == [0] + [2] * (racers - 1)
        refused = [json.loads(each.out)["code"] for each in ended if each.status]
        assert refused == ["epoch-order"] * (racers - 1)
        ledger.close_epoch(0)
        ledger.import_events(written(tmp_path / "after.jsonl", [reviewed("t1", 1)]))
        with ledger.store.reading() as transaction:
            events = [each for n in (0, 1) for each in transaction.events_of_round(n)]
            found = [event.value("quality") for event in events]
    scored = [score(reviewed(f"t{n}", n), name) for n, name in enumerate((RULES, ADOPTED))]
    assert found == [count(Fraction(row["quality"])) for row in scored]
    assert found[0] != found[1]
    verified(where)


def reviewed(task: str, epoch: int) -> Record:
    """A record that both rule sets score, each otherwise."""
    made = record(task, "hk-0", round=epoch, epoch=epoch)
    return made | {"submission": made["submission"] | {"verdict": "REVIEW"}}
