"""Groups of a round in a state: the consensus of its records, alignments, flags of the engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.command import run
from examples import fast_rows
from state import subnet
from state.chronicle import digest_of
from state.subnet import Record, record, standing_of, written

import tallystick
from tallystick.errors import DamagedError, InputError, RefusedError
from tallystick.json_values import json_value
from tallystick_consensus.join import as_numbers
from tallystick_state import transfer
from tallystick_state.event_log import EventLog
from tallystick_state.ledger import Ledger
from tallystick_state.miners import ENGINE
from tallystick_state.replay import verify

PYTHON = "executable_python"
HOTKEYS = tuple(f"hk-{number}" for number in range(5))
"""Three primaries who always say the same, and two auditors who say something else."""


def member(place: int, found: Record) -> Record:
    """A member of a group, as its record has it; the auditors differ in all that is compared."""
    submission = found["submission"]
    role = "auditor" if place > 2 else "primary"
    kind = "tool" if place > 2 else "net_domain"
    return {
        "uid": found["miner"]["uid"],
        "hotkey": found["miner"]["hotkey"],
        "role": role,
        "submission": {
            "verdict": submission["verdict"],
            "risk_score": submission["risk_score"],
            "recommended_policy": submission["recommended_policy"],
            "findings": [{"category": role, "severity": "low", "file": "a.py", "line": place // 3}],
            "capabilities": [{"kind": kind, "value": role}],
        },
    }


def of_round(number: int, epoch: int = 0, validator: str = "val-1") -> tuple[list[Record], Record]:
    """The records of a round, without a consensus, and their group."""
    about: dict[str, Any] = {"round": number, "epoch": epoch, "validator": validator}
    records = [
        record(f"t{number}", hotkey, consensus=None, **about)
        | {"role": "auditor" if place > 2 else "primary"}
        for place, hotkey in enumerate(HOTKEYS)
    ]
    for found in records[3:]:
        found["submission"] = found["submission"] | {"verdict": "BLOCK"}
    members = [member(place, found) for place, found in enumerate(records)]
    group = {"skill_type": PYTHON, "task_id": f"t{number}", **about, "members": members}
    return records, group


def begun(where: str, rules: str) -> Ledger:
    return subnet.begun(where, rules, HOTKEYS)


def feed(ledger: Ledger, rounds: Iterator[int] | range, epoch: int = 0) -> None:
    for number in rounds:
        records, group = of_round(number, epoch)
        ledger.close_round(records, groups=[group])


def flags(ledger: Ledger, epoch: int) -> list[tuple[str, int, str | None]]:
    """The flags of the engine that an epoch has counted."""
    with ledger.store.reading() as transaction:
        events = [each for each in transaction.events(epoch) if each.validator == ENGINE]
    assert all(each.events == ("collusion_flag",) for each in events)
    return [(each.hotkey, each.round, each.id) for each in events]


def test_records_get_the_consensus_of_their_group(where: str) -> None:
    with begun(where, "skills@1.1.0") as ledger:
        records, group = of_round(0)
        (expected,) = tallystick.consensus([group], "skills@1.1.0")
        assert not isinstance(expected, tallystick.Reject)
        ledger.close_round(records, groups=[group])
        with ledger.store.reading() as transaction:
            events = {each.hotkey: each for each in transaction.events(0)}
        for found in expected.members:
            event = events[found.hotkey]
            assert found.event in event.events
            primaries, auditors = found.aligned_with_primaries, found.aligned_with_auditors
            assert event.alignment == (str(primaries), str(auditors))
            assert bool(event.rerun) is (found.hotkey in expected.rerun)
        with ledger.queries() as queries:
            assert {each.hotkey for each in queries.reruns(0)} == set(expected.rerun)


@pytest.mark.parametrize(
    ("rules", "first", "second"),
    fast_rows(
        [
            # E83: 1.0.0 flags the same evidence in every round, later a flag begins a new window
            ("skills@1.0.0", range(4, 8), range(8, 12)),
            ("skills@1.1.0", range(4, 5), range(9, 10)),
            ("skills@1.2.0", range(4, 5), range(9, 10)),
        ],
        1,
    ),
)
def test_the_engine_flags_as_an_epoch_closes(
    where: str, rules: str, first: range, second: range
) -> None:
    with begun(where, rules) as ledger:
        feed(ledger, range(8))
        assert flags(ledger, 0) == []
        ledger.close_epoch()
        names = [(h, n, f"collusion:{PYTHON}:{h}:{n}") for h in HOTKEYS[:3] for n in first]
        assert flags(ledger, 0) == names
        feed(ledger, range(8, 12), epoch=1)
        ledger.close_epoch()
        later = [(h, n, f"collusion:{PYTHON}:{h}:{n}") for h in HOTKEYS[:3] for n in second]
        assert flags(ledger, 1) == later
        with ledger.queries() as queries:
            given = {name: miner.flags for name, miner in queries.state.miners.items()}
        assert given == dict.fromkeys(HOTKEYS[:3], len(first) + len(second)) | {
            "hk-3": 0,
            "hk-4": 0,
        }
        verify(ledger)


@pytest.mark.nightly
def test_the_order_of_rounds_and_the_way_of_a_state_change_nothing(tmp_path: Path) -> None:
    found = set()
    for name, rounds in (("up", range(8)), ("down", range(7, -1, -1))):
        with begun(str(tmp_path / f"{name}.db"), "skills@1.2.0") as ledger:
            feed(ledger, rounds)
            ledger.close_epoch()
            with ledger.queries() as queries:
                found.add(queries.digest())
            exported = tmp_path / f"{name}.jsonl"
            transfer.export_state(ledger, exported)
        again = str(tmp_path / f"{name}-again.db")
        transfer.import_state(exported, again)
        with Ledger.open(again) as copied:
            assert flags(copied, 0) == flags_of_three()
    assert len(found) == 1


def flags_of_three() -> list[tuple[str, int, str | None]]:
    return [(hotkey, 4, f"collusion:{PYTHON}:{hotkey}:4") for hotkey in HOTKEYS[:3]]


def test_groups_of_other_records_change_nothing(tmp_path: Path) -> None:
    records, (_, other) = of_round(0)[0], of_round(1)
    with begun(str(tmp_path / "s.db"), "skills@1.1.0") as ledger:
        before = standing_of(ledger)
        with pytest.raises(InputError, match="found no record of any of 1 group, expected the gr"):
            ledger.close_round(records, groups=[other])
        assert standing_of(ledger) == before
        # a group more than there are records of is no mistake
        ledger.close_round(records, groups=[of_round(0)[1], other])


def test_a_group_that_comes_twice_is_refused(tmp_path: Path) -> None:
    with begun(str(tmp_path / "state.db"), "skills@1.1.0") as ledger:
        records, group = of_round(0)
        with pytest.raises(RefusedError, match="duplicate-group"):
            ledger.close_round(records, groups=[group, group])


def test_a_log_without_a_flag_that_follows_is_refused(tmp_path: Path) -> None:
    with begun(str(tmp_path / "state.db"), "skills@1.2.0") as ledger:
        feed(ledger, range(5))
        found = EventLog.flag_colluders
        EventLog.flag_colluders = lambda _: None  # type: ignore[method-assign]
        try:
            ledger.close_epoch()
        finally:
            EventLog.flag_colluders = found  # type: ignore[method-assign]
        with pytest.raises(DamagedError):
            verify(ledger)


def test_the_commands_take_groups_and_list_what_is_to_be_run_again(tmp_path: Path) -> None:
    where = str(tmp_path / "state.db")
    begun(where, "skills@1.1.0").close()
    records, group = of_round(0)
    files = (
        written(tmp_path / "round.jsonl", records),
        written(tmp_path / "groups.jsonl", [group]),
    )
    closed = run("round", "close", str(files[0]), "--groups", str(files[1]), "--state", where)
    assert (closed.status, closed.err) == (0, "")
    shown = run("round", "show", "0", "--state", where, "--json").json()
    assert [each["task_id"] for each in shown["reruns"]] == ["t0"]
    told = run("round", "show", "0", "--state", where)
    assert f"to be run again: t0 of {shown['reruns'][0]['hotkey']}" in told.out
    again = run("events", "import", str(files[0]), "--groups", str(files[1]), "--state", where)
    assert again.status == 0


@pytest.mark.parametrize("is_filled", [False, True], ids=["raw", "with its consensus"])
@pytest.mark.parametrize("with_group", fast_rows([0, 1], 0), ids=["group first", "group second"])
def test_a_record_without_its_group_waits_beside_it_until_one_is_dropped(
    tmp_path: Path, is_filled: bool, with_group: int
) -> None:
    """In either order; the record itself may even be the same, but for how alike its miner is."""
    records, group = of_round(0)
    alone = records
    if is_filled:
        (found,) = tallystick.consensus([group], "skills@1.1.0")
        assert not isinstance(found, tallystick.Reject)
        components = {each.hotkey: as_numbers(each.components) for each in found.members}
        alone = [each | {"consensus": components[each["miner"]["hotkey"]]} for each in records]
    with begun(str(tmp_path / "once.db"), "skills@1.1.0") as ledger:
        nothing = digest_of(ledger)
        ledger.import_events(records, groups=[group])
        wanted = digest_of(ledger)
    with begun(str(tmp_path / "twice.db"), "skills@1.1.0") as ledger:
        feeds: list[Any] = [(alone, None), (records, [group])]
        for given, groups in feeds if with_group else feeds[::-1]:
            told = ledger.import_events(given, groups=groups)
        assert told.quarantined == {"conflict": 5}
        assert (told.displaced, told.events, digest_of(ledger)) == (5, 0, nothing)
        with ledger.queries() as queries:
            waiting = json_value([*queries.quarantine()])
        without = [each["claim"] for each in waiting if "alignment" not in each]
        assert [each.expected.rpartition(" ")[2] for each in told.told] == [*map(str, without)]
        assert ledger.drop(without) == 5
        assert digest_of(ledger) == wanted
        verify(ledger)


@pytest.mark.nightly
def test_the_seed_of_a_group_draws_whose_submission_is_run_again(tmp_path: Path) -> None:
    drawn = set()
    for seed in map(str, range(6)):
        with begun(str(tmp_path / f"{seed}.db"), "skills@1.1.0") as ledger:
            ledger.select_group(PYTHON, 0, seed)
            records, group = of_round(0)
            (expected,) = tallystick.consensus([group], ledger.scorer, seed=seed)
            assert not isinstance(expected, tallystick.Reject)
            ledger.close_round(records, groups=[group])
            with ledger.queries() as queries:
                found = tuple(each.hotkey for each in queries.reruns(0))
            assert found == tuple(sorted(expected.rerun))
            drawn.add(found)
    assert len(drawn) > 1
