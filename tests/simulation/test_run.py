"""A run is what the engine makes of its records one by one, and depends on its seed alone."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import attrs
import msgspec
import numpy as np
import pytest
from networks import key, network, pool_of, shipped, strategies

from tallystick.errors import InputError
from tallystick_consensus.run import consensus
from tallystick_simulation import run as module
from tallystick_simulation.dispatch import draws
from tallystick_simulation.network import Network, NetworkRun, Participant
from tallystick_simulation.pool import Pool
from tallystick_simulation.run import run
from tallystick_simulation.strategy import split
from tallystick_state.record_columns import RecordColumns

NANO = 10**9
Record = dict[str, Any]


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[list[RecordColumns]]:
    """The records of each epoch of the runs of a test."""
    epochs: list[list[RecordColumns]] = []
    close = module.close

    def noted(state: Any, records: Sequence[RecordColumns], *rest: Any, **named: Any) -> Any:  # noqa: ANN401  # as `close`
        epochs.append([*records])
        return close(state, records, *rest, **named)

    monkeypatch.setattr(module, "close", noted)
    return epochs


def answers(
    part: RecordColumns, own: Network, pool: Pool, outcome: NetworkRun
) -> dict[int, list[tuple[int, Record]]]:
    """The records of the first validator as JSON, with their rows, by round."""
    of_type = pool.of(part.skill_type)
    found: dict[int, list[tuple[int, Record]]] = defaultdict(list)
    rows = zip(
        part.validator.values(),
        part.hotkey.values(),
        part.role.values(),
        part.round.tolist(),
        strict=True,
    )
    for row, (validator, hotkey, role, number) in enumerate(rows):
        if validator != "validator-0":
            continue
        (task,) = draws((own.seed, "tasks", part.skill_type, number), 1, of_type.tasks).tolist()
        uid = outcome.state.miners[hotkey].uid
        assert uid is not None
        person = own.participants[uid]
        block = of_type.block(key("honest", person.accuracy, person.variant))
        miner = {"uid": uid, "hotkey": hotkey}
        when = {"round": number, "epoch": int(part.epoch[row]), "role": role}
        record = {**block.records[task], **when, "miner": miner}
        found[number].append((row, {**record, "validator": validator}))
    return found


def test_scores_are_those_of_each_record_with_the_consensus_of_its_group(
    closed: list[list[RecordColumns]],
) -> None:
    rules, pool = shipped("skills@1.2.0"), pool_of("skills@1.2.0")
    own = network(rules, pool, epochs=1)
    outcome = run(own, pool)
    ((*parts,),) = closed
    emissions, scored = defaultdict[int, int](int), 0
    for part in parts:
        of_type = pool.of(part.skill_type)
        for number, members in answers(part, own, pool, outcome).items():
            group: Record = {
                "skill_type": part.skill_type,
                "task_id": "task",
                "round": number,
                "epoch": 0,
                "validator": "validator-0",
                "members": [_member(of_type, record, own) for _, record in members],
            }
            (agreed,) = consensus([group], rules)
            for (row, record), member in zip(members, agreed.members, strict=True):  # type: ignore[union-attr]  # no reject
                components = {name: nano / NANO for name, nano in member.components.items()}
                with_consensus = {**record, "consensus": components} if components else record
                result = rules.score(with_consensus)  # type: ignore[attr-defined]  # a scorer
                quality, emission = (part.values[v].values[row] for v in ("quality", "emission"))
                assert (quality, emission) == (result.quality * NANO, result.emission * NANO)
                assert (member.event in part.events.values()[row]) == (member.event is not None)
                emissions[record["miner"]["uid"]] += int(emission)
                scored += 1
    assert scored == 2 * 5 * len(rules.types)
    assert outcome.emission.sum(axis=0).tolist() == [emissions[n] for n in range(12)]


def _member(of_type: Any, record: Record, own: Network) -> Record:  # noqa: ANN401  # a pool
    """A member of a group as its pool has it, written as JSON."""
    person = own.participants[record["miner"]["uid"]]
    block = of_type.block(key("honest", person.accuracy, person.variant))
    row = next(i for i, r in enumerate(block.records) if r["task"] == record["task"])
    submission = msgspec.to_builtins(of_type.submission(block.first + row))
    known = {k: v for k, v in submission.items() if v is not None}
    for finding in known.get("findings", ()):
        for name in [name for name, value in finding.items() if value is None]:
            del finding[name]
    return {**record["miner"], "role": record["role"], "submission": known}


def test_weights_are_the_shares_of_the_mean_qualities_of_a_window() -> None:
    rules, pool = shipped("workflow@1.2.0"), pool_of("workflow@1.2.0")
    own = network(rules, pool, epochs=3, rounds=3)
    outcome = run(own, pool)
    qualities = defaultdict[int, list[Fraction]](list)
    order, turn = sorted(range(12), key=lambda n: _registered(outcome, n)), 0
    for number in range(9):
        (task,) = draws((own.seed, "tasks", "workflow", number), 1, pool.of("workflow").tasks)
        for member in range(turn, turn + 5):
            place = order[member % 12]
            person = own.participants[place]
            block = pool.of("workflow").block(key("honest", person.accuracy, person.variant))
            result = rules.score(block.records[int(task)])  # type: ignore[attr-defined]  # a scorer
            qualities[place].append(Fraction(result.quality))
        turn += 5
        if number % 3 == 2:
            means = {place: sum(own) / len(own) for place, own in qualities.items()}
            total = sum(means.values())
            shares = [means.get(place, Fraction()) / total for place in range(12)]
            assert max(shares) < Fraction("0.15")  # the cap changes nothing
            row = outcome.weights[number // 3]
            # a published mean has nine places, and so has a weight
            assert all(abs(w - s * NANO) <= 2 for w, s in zip(row.tolist(), shares, strict=True))
    assert outcome.answers.sum() == 45


def _registered(outcome: NetworkRun, place: int) -> int:
    """The place of a participant's hotkey in the state."""
    return [miner.uid for miner in outcome.state.miners.values()].index(place)


def bytes_of(outcome: NetworkRun) -> str:
    """A digest of all tables."""
    digest = hashlib.sha256()
    for field in attrs.fields(NetworkRun):
        value = getattr(outcome, field.name)
        digest.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
    return digest.hexdigest()


def test_other_seeds_give_other_tasks_but_other_strategies_do_not(
    closed: list[list[RecordColumns]],
) -> None:
    rules, pool = shipped("workflow@1.2.0"), pool_of("workflow@1.2.0")
    one = run(network(rules, pool, epochs=2), pool)
    other = run(network(rules, pool, epochs=2, seed=4), pool)
    idle = run(network(rules, pool, "idle", epochs=2), pool)
    assert bytes_of(one) != bytes_of(other)
    assert (one.quality[:, 1:] == idle.quality[:, 1:]).all()
    assert (one.quality[:, 0] > idle.quality[:, 0]).all()
    assert len(closed) == 6


@pytest.mark.parametrize(("reference", "burnt"), [("skills@1.2.0", 0), ("king@1.0.0", NANO // 2)])
def test_weights_and_what_is_burnt_are_all_weight(reference: str, burnt: int) -> None:
    rules, pool = shipped(reference), pool_of(reference)
    outcome = run(network(rules, pool, epochs=2), pool)
    total = outcome.weights.sum(axis=1) + outcome.burnt
    assert (abs(total - NANO) <= len(outcome.names)).all()
    assert outcome.burnt.tolist() == [burnt, burnt]
    assert (outcome.nobody == 0).all()


def test_several_hotkeys_are_paid_together_and_work_once() -> None:
    rules, pool = shipped("workflow@1.2.0"), pool_of("workflow@1.2.0")
    base = network(rules, pool, epochs=4)
    first = base.participants[0]
    doubled = attrs.evolve(first, strategy=split(first.strategy, 3))
    outcome = run(attrs.evolve(base, participants=(doubled, *base.participants[1:])), pool)
    alone = run(base, pool)
    assert outcome.answers[:, 0].sum() > alone.answers[:, 0].sum()
    assert outcome.work[:, 0].sum() < outcome.answers[:, 0].sum() * NANO
    assert outcome.pay("miner-00") > 2 * alone.pay("miner-00")


@pytest.mark.nightly
def test_who_registers_anew_has_a_new_hotkey_and_its_reputation() -> None:
    rules, pool = shipped("skills@1.2.0"), pool_of("skills@1.2.0")
    outcome = run(network(rules, pool, "re-register", epochs=6), pool)
    kept = run(network(rules, pool, epochs=6), pool)
    assert len(outcome.state.miners) == 13
    assert len(kept.state.miners) == 12
    last = [own.weights[-1, own.names.index("miner-00")] for own in (outcome, kept)]
    assert last[0] < last[1]


def test_who_joins_late_leaves_or_is_replaced_is_paid_while_it_is_there() -> None:
    rules, pool = shipped("workflow@1.2.0"), pool_of("workflow@1.2.0")
    base = network(rules, pool, epochs=6, miners=5)
    people = [*base.participants]
    people[1] = attrs.evolve(people[1], joins=2)
    people[2] = attrs.evolve(people[2], leaves=3)
    people[3] = attrs.evolve(people[3], joins=4, replaces=people[4].name)
    outcome = run(attrs.evolve(base, participants=tuple(people)), pool)
    paid = (outcome.weights > 0).astype(int).T.tolist()
    assert paid == [
        [1, 1, 1, 1, 1, 1],
        [0, 0, 1, 1, 1, 1],
        [1, 1, 1, 0, 0, 0],
        [0, 0, 0, 0, 1, 1],
        [1, 1, 1, 1, 0, 0],
    ]


@pytest.mark.nightly
def test_who_is_caught_loses_reputation() -> None:
    rules, pool = shipped("skills@1.2.0"), pool_of("skills@1.2.0")
    base = network(rules, pool, "rush", epochs=4)
    never, always = (run(attrs.evolve(base, detection=share), pool) for share in (0, 100))
    caught, honest = ([_reputation(o, place) for o in (always, never)] for place in (0, 1))
    assert caught[0] < caught[1]
    assert honest[0] == honest[1]


def _reputation(outcome: NetworkRun, uid: int) -> int:
    """The sum over the skill types of a miner after the last epoch."""
    miners = outcome.state.miners.values()
    return sum(nano for miner in miners if miner.uid == uid for nano in miner.reputation.values())


def test_a_farmer_stops_to_work_when_its_time_has_come() -> None:
    rules, pool = shipped("workflow@1.2.0"), pool_of("workflow@1.2.0")
    base = network(rules, pool, "farmer", epochs=4)
    first = base.participants[0]
    soon = attrs.evolve(first, strategy=attrs.evolve(first.strategy, after=2))
    outcome = run(attrs.evolve(base, participants=(soon, *base.participants[1:])), pool)
    worked = outcome.work[:, 0] * 10 > outcome.answers[:, 0] * NANO
    assert worked.tolist() == [True, True, False, False]


def test_a_run_goes_on_from_a_state() -> None:
    rules, pool = shipped("skills@1.2.0"), pool_of("skills@1.2.0")
    first = run(network(rules, pool, epochs=3), pool)
    second = run(attrs.evolve(network(rules, pool, epochs=2), state=first.state), pool)
    assert second.state.epoch == 5
    alone = run(network(rules, pool, epochs=2), pool)
    assert _reputation(second, 0) != _reputation(alone, 0)


@pytest.mark.parametrize(
    ("people", "message"),
    [
        (("a", None, "a", None), 'found 2 participants "a", expected different names'),
        (("a", None, "b", "c"), 'found that "b" replaces "c", expected the name of a participant'),
    ],
)
def test_participants_that_cannot_be_are_refused(
    people: tuple[str, str | None, str, str | None], message: str
) -> None:
    rules, pool = shipped("workflow@1.2.0"), pool_of("workflow@1.2.0")
    honest = strategies(rules, pool)["honest"]
    made = tuple(
        Participant(name=name, strategy=honest, accuracy=50, replaces=replaced)
        for name, replaced in (people[:2], people[2:])
    )
    with pytest.raises(InputError, match=message):
        run(Network(rules=rules, participants=made, epochs=1), pool)


def test_draws_are_even_and_their_own() -> None:
    many = draws(("a", 1), 6000, 6)
    counts: Mapping[int, int] = {n: int((many == n).sum()) for n in range(6)}
    assert set(many.tolist()) == {*range(6)}
    assert all(850 < count < 1150 for count in counts.values())
    assert draws(("a", 1), 5, 6).tolist() == many[:5].tolist()
    assert draws(("a", 2), 5, 1 << 31).tolist() != draws(("a", 1), 5, 1 << 31).tolist()
