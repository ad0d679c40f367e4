"""A validator's step, of whatever it has at hand: the good is recorded, each outcome comes back."""

import math
import random
from pathlib import Path
from typing import Any

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from state import subnet
from state.chronicle import digest_of
from state.subnet import Record, event, hotkeys, record, standing_of
from state.variants import put, variant

from tallystick import Ledger, Reject, Result
from tallystick.errors import InputError, RefusedError, StateError
from tallystick_state.answers import ClaimInfo

RULES = Path(__file__).resolve().parents[2] / "rules"
OWN = "val-1"
MINERS = 4

SPOILT: dict[str, str] = {
    "above one": "out-of-range",
    "nobody": "unknown-miner",
    "undeclared": "undeclared-type",
    "future": "future-epoch",
    "not finite": "not-finite",
    "no JSON": "invalid-json",
    "no object": "not-an-object",
    "nothing": "missing-field",
    "bytes": "wrong-type",
}
"""Ways in which a record of a step goes wrong, and the code that tells it."""


def spoilt(good: Record, how: str) -> Any:  # noqa: ANN401  # what no record is
    """A record that went wrong."""
    if how == "above one":
        return {**good, "consensus": 1.0000000000000002}
    if how == "nobody":
        return {**good, "miner": {"uid": 200, "hotkey": "nobody"}}
    if how == "undeclared":
        return record(good["task_id"], skill_type="mcp_server", validator=OWN)
    if how == "future":
        return {**good, "epoch": 99}
    if how == "not finite":
        return {**good, "consensus": math.nan}
    others: dict[str, Any] = {"no JSON": b'{"task_id":', "no object": [1], "nothing": {}}
    return others.get(how, {**good, "task_id": b"raw"})


def begun(where: Path, rules: str = "skills@1.1.0", **options: Any) -> Ledger:  # noqa: ANN401  # of create
    return subnet.begun(where, rules, hotkeys(MINERS), **options)


def outcome(found: Result | Reject) -> tuple[int, str]:
    return (found.line, found.code) if isinstance(found, Reject) else (found.record, "scored")


def is_good(found: Result | Reject) -> bool:
    return isinstance(found, Result)


def _records() -> st.SearchStrategy[list[Any]]:
    good = st.builds(
        lambda task, hotkey, number, epoch, consensus: record(
            f"t{task}", f"hk-{hotkey}", round=number, epoch=epoch, consensus=consensus
        ),
        st.integers(0, 5),
        st.integers(0, MINERS),
        st.integers(0, 1),
        st.integers(0, 2),
        st.sampled_from([None, 0.0, 0.4, 1.0, 1.0000000000000002]),
    )
    late = st.builds(
        lambda n, task, name: event(f"e{n}", name, f"t{task}", "hk-1"),
        st.integers(0, 3),
        st.integers(0, 5),
        st.sampled_from(["rerun_fail", "collusion_flag", "no_such_event"]),
    )
    bad = st.builds(spoilt, good, st.sampled_from(list(SPOILT)))
    return st.lists(st.one_of(good, good, late, bad), min_size=1, max_size=14)


def _live(ledger: Ledger) -> object:
    """What a state is, its quarantine too."""
    with ledger.queries() as queries:
        claims = sorted(
            (c.reason, c.task_id, c.quality or 0, c.hotkey) for c in queries.quarantine()
        )
        return queries.digest(), claims, queries.rounds()


@examples(12)
@given(records=_records(), rules=st.sampled_from(["skills@1.0.0", "skills@1.1.0", "skills@1.2.0"]))
def test_the_state_is_that_of_the_good_records_alone(
    records: list[Any], rules: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("step")
    with begun(folder / "all.db", rules) as ledger, begun(folder / "good.db", rules) as other:
        for each in (ledger, other):
            each.close_epoch()
        with ledger.scoring() as scorer:
            scored = [*scorer.score_many(records)]
        rounds, found = ledger.close_round(records, bad="reject")
        outcomes = {outcome(each)[0]: each for each in found.results}
        late = [
            n for n, each in enumerate(records, 1) if isinstance(each, dict) and "event" in each
        ]
        assert set(range(1, len(records) + 1)) - set(late) <= outcomes.keys()
        assert list(outcomes) == sorted(outcomes)
        for line, each in outcomes.items():
            if isinstance(each, Result) or (
                line not in late and isinstance(scored[line - 1], Reject)
            ):
                assert each == scored[line - 1]
        rejected = {line for line, each in outcomes.items() if isinstance(each, Reject)}
        good = [each for line, each in enumerate(records, 1) if line not in rejected]
        if good:
            again, alone = other.close_round(good)
            assert again == rounds
            assert (alone.events, alone.duplicates) == (found.events, found.duplicates)
            assert alone.quarantined == found.quarantined
        else:
            assert (rounds, found.events) == ((), 0)
        assert _live(ledger) == _live(other)
        # the same step again changes nothing and gives the same
        before = _live(ledger)
        _, repeated = ledger.close_round(records, bad="reject")
        assert repeated.results == found.results
        assert (repeated.events, _live(ledger)) == (0, before)


@pytest.mark.nightly
@examples(15)
@given(records=_records(), seed=st.randoms(use_true_random=False))
def test_the_order_of_a_step_decides_no_reject(
    records: list[Any], seed: random.Random, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("order")
    order = list(range(len(records)))
    seed.shuffle(order)
    with begun(folder / "a.db") as one, begun(folder / "b.db") as two:
        _, first = one.close_round(records, bad="reject")
        _, second = two.close_round([records[n] for n in order], bad="reject")
        told = dict(map(outcome, first.results))
        there = {order[line - 1] + 1: code for line, code in map(outcome, second.results)}
        assert there == told
        assert digest_of(one) == digest_of(two)


def test_a_round_is_pinned_to_the_epoch_that_most_of_its_records_name(tmp_path: Path) -> None:
    with begun(tmp_path / "state.db") as ledger:
        ledger.close_epoch()
        records = [{**record(f"t{n}"), "round": 7, "epoch": 0 if n == 0 else 1} for n in range(4)]
        with pytest.raises(RefusedError, match="the epoch 0, as the records of the round 7 before"):
            ledger.close_round(records)
        (closed,), found = ledger.close_round(records, bad="reject")
        assert (closed.epoch, found.events) == (1, 3)
        (reject,) = (each for each in found.results if isinstance(each, Reject))
        assert (reject.line, reject.code) == (1, "other-epoch")
        assert reject.expected == "the epoch 1, as most records of the round 7"


def test_what_waits_and_what_is_displaced_is_named(tmp_path: Path) -> None:
    """Forged records of the own validator give way; two that differ of one task wait."""
    with begun(tmp_path / "state.db", "skills@1.2.0", validator=OWN) as ledger:
        forged = ledger.import_events(
            [record("t1", consensus=0.0), record("t9", validator="val-2")]
        )
        assert (forged.events, forged.displaced_claims, forged.results) == (2, (), ())
        records = [record("t1"), record("t2"), record("t3"), record("t3", consensus=0.5)]
        _, found = ledger.close_round([*records, spoilt(record("t4"), "nobody")], bad="reject")
        assert [outcome(each)[1] for each in found.results] == [*["scored"] * 4, "unknown-miner"]
        (displaced,) = found.displaced_claims
        assert isinstance(displaced, ClaimInfo)
        assert (displaced.reason, displaced.task_id, displaced.line) == ("outranked", "t1", None)
        waiting = [(each.line, each.reason, each.task_id) for each in found.quarantined_claims]
        assert waiting == [(3, "conflict", "t3"), (4, "conflict", "t3")]
        assert (found.displaced, found.quarantined) == (1, {"conflict": 2})
        with ledger.queries() as queries:
            known = {each.seq: each for each in queries.quarantine()}
        for each in (*found.displaced_claims, *found.quarantined_claims):
            assert known[each.seq].reason == each.reason
            assert each.quality is not None
        ledger.drop([found.quarantined_claims[0].seq])
        with ledger.queries() as queries:
            assert [each.seq for each in queries.quarantine()] == [displaced.seq]


def test_more_claims_than_are_allowed_are_scored_and_named(tmp_path: Path) -> None:
    rules = variant(tmp_path, "skills@1.2.0", "1.2.9", put(2, "claims", "per_round"))
    with begun(tmp_path / "state.db", str(rules)) as ledger:
        records = [record(f"t{n}") for n in range(5)]
        _, found = ledger.close_round(records, bad="reject")
        assert all(map(is_good, found.results))
        assert found.events == 0
        assert {each.reason for each in found.quarantined_claims} == {"over-quota"}
        assert [each.line for each in found.quarantined_claims] == [1, 2, 3, 4, 5]
        # those beyond the limit and one more are kept nowhere
        assert [each.seq > 0 for each in found.quarantined_claims] == [True] * 3 + [False] * 2


def test_a_step_without_a_good_record_changes_nothing(tmp_path: Path) -> None:
    with begun(tmp_path / "state.db") as ledger:
        before = standing_of(ledger)
        rounds, found = ledger.close_round(
            [spoilt(record("t1"), how) for how in SPOILT], bad="reject"
        )
        assert (rounds, found.events) == ((), 0)
        assert [outcome(each)[1] for each in found.results] == list(SPOILT.values())
        assert standing_of(ledger) == before
        with pytest.raises(InputError, match="found no records"):
            ledger.close_round([], bad="reject")
        with pytest.raises(StateError, match="found 'skip' for bad, expected refuse or reject"):
            ledger.close_round([record("t1")], bad="skip")  # type: ignore[arg-type]
        assert standing_of(ledger) == before


def test_a_bad_record_does_not_lose_the_groups_of_a_step(tmp_path: Path) -> None:
    """Where the only record with a group is a bad one, the groups are still those of the step."""
    with begun(tmp_path / "state.db", "skills@1.2.0") as ledger:
        records = [record("t1", consensus=None), record("t2", consensus=None)]
        said = ("verdict", "risk_score", "recommended_policy")
        submission = {name: records[0]["submission"][name] for name in said}
        members = [
            {"hotkey": f"hk-{n}", "uid": n, "role": "primary", "submission": submission}
            for n in range(3)
        ]
        names = ("validator", "skill_type", "task_id", "round", "epoch")
        group = {**{name: records[0][name] for name in names}, "members": members}
        for spoil in ({"latency_ms": -1}, {"latency_ms": [1]}):
            records[0]["submission"] |= spoil
            _, found = ledger.close_round(records, groups=[group], bad="reject")
            assert [is_good(each) for each in found.results] == [False, True]
        with pytest.raises(InputError, match="found no record of any of 1 group"):
            ledger.close_round([record("t3", consensus=None)], groups=[group], bad="reject")


@pytest.mark.parametrize("source", [None, 5, {"task_id": "one record"}, b"records.jsonl"])
def test_what_holds_no_records_is_told(tmp_path: Path, source: Any) -> None:  # noqa: ANN401  # wrong
    ledger = Ledger.create(tmp_path / "s.db", "skills@1.0.0")
    for take in (ledger.import_events, ledger.close_round, ledger.sync_miners):
        with pytest.raises(InputError, match=r"expected a file of .*, or an iterable"):
            take(source)
