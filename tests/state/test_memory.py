"""Weights with a memory: averages that outlive their round, against a simulation in fractions."""

import random
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path

import attrs
import pytest
from oracle.decimals import count
from oracle.emissions import BASE_WEIGHTS
from oracle.weights import Task, averaged, blended, round_mean, weights
from state import subnet
from state.subnet import Record, missed, record, task

import tallystick
from tallystick.json_values import json_value
from tallystick.numbers.nano import NANO, from_decimal
from tallystick_governance.adoption_effect import effect_on
from tallystick_governance.adoption_text import as_text
from tallystick_state.carry import carried_names
from tallystick_state.event import StateEvent
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify
from tallystick_state.rules import state_rules_of

RULES, BEFORE = "skills@1.2.0", "skills@1.1.0"
PYTHON = "executable_python"
MINERS, DRAWN, ROUNDS, EPOCHS = 61, 9, 40, 4
NEW, CAP = Fraction("0.2"), Fraction("0.15")
INITIAL = NANO // 2
"""The reputation, in nano, of who was not registered when an epoch began."""
Averages = dict[str, Fraction]


def name(number: int) -> str:
    return f"hk-{number:02}"


@attrs.frozen
class Drawn:
    """A round: who was drawn, and what they sent."""

    number: int
    epoch: int
    records: tuple[Record, ...]


@cache
def history(seed: int, miners: int = MINERS, rounds: int = ROUNDS) -> tuple[Drawn, ...]:
    """Rounds of groups that are drawn; some miss the deadline, and some have two validators."""
    chance, found = random.Random(seed), list[Drawn]()
    for number in range(rounds):
        epoch = number * EPOCHS // rounds
        about = {"round": number, "epoch": epoch}
        records = []
        for each in chance.sample(range(miners), min(DRAWN, miners)):
            for validator in chance.choice([("val-1",), ("val-1",), ("val-1", "val-2")]):
                identity = f"t{number}-{each}", name(each)
                if chance.random() < 0.15:
                    records.append(missed(*identity, validator=validator, **about))
                else:
                    slow = chance.randrange(30_000, 85_000)
                    records.append(record(*identity, validator=validator, latency_ms=slow, **about))
        found.append(Drawn(number, epoch, tuple(records)))
    return tuple(found)


def begun(place: object, rules: str = RULES, miners: int = MINERS) -> Ledger:
    return subnet.begun(place, rules, [*map(name, range(miners))])


def scores_of(ledger: Ledger, events: Iterable[StateEvent]) -> Averages:
    """The exact means of a round (E36, E38), with the reputations that it pinned."""
    tasks: dict[str, list[Task]] = {}
    with ledger.queries() as queries:
        for event in events:
            pinned = queries.pinned(event.epoch)
            assert pinned is not None
            known = pinned.miners.get(event.hotkey)
            reputation = INITIAL if known is None else known.reputation[event.skill_type]
            tasks.setdefault(event.hotkey, []).append(
                Task(
                    Fraction(event.value("emission") or 0, NANO),
                    BASE_WEIGHTS[event.skill_type],
                    Fraction(reputation, NANO),
                    event.missed,
                )
            )
    found = {
        hotkey: round_mean(each, twice=False, missed_is_zero=True) for hotkey, each in tasks.items()
    }
    return {hotkey: each for hotkey, each in found.items() if each is not None}


def after(ledger: Ledger, averages: Mapping[str, Fraction], epoch: int) -> Averages:
    """The averages after the rounds that an epoch counted, ascending."""
    with ledger.store.reading() as transaction:
        events = [each for each in transaction.events(epoch) if each.is_record]
    found = dict(averages)
    for number in sorted({each.round for each in events}):
        scores = scores_of(ledger, (each for each in events if each.round == number))
        found = averaged(found, scores, NEW)
    return found


def nano(found: Mapping[str, Fraction]) -> dict[str, int]:
    return {hotkey: count(each) for hotkey, each in found.items()}


def carry_of(ledger: Ledger) -> dict[str, int]:
    with ledger.queries() as queries:
        return dict(queries.state.carry.get("skills", {}).get("average", {}))


def weights_of(ledger: Ledger) -> dict[str, int]:
    with ledger.queries() as queries:
        found = queries.weights()
    return {
        name(uid): from_decimal(weight)
        for uid, weight in zip(found.uids, found.weights, strict=True)
        if weight
    }


@pytest.mark.nightly
def test_who_was_drawn_once_keeps_a_weight(tmp_path: Path) -> None:
    averages, drawn = Averages(), set[str]()
    with begun(tmp_path / "state.db") as ledger:
        for each in history(1):
            ledger.close_round([*each.records])
            drawn |= {line["miner"]["hotkey"] for line in each.records if "checks" in line}
            if each.number in {9, 24}:
                # in the open epoch, of what is carried and of the rounds so far
                now = after(ledger, averages, each.epoch)
                assert weights_of(ledger) == nano(weights(now, CAP))
                assert {*weights_of(ledger)} == drawn
                assert len(drawn) > 40
            if each.number % (ROUNDS // EPOCHS) == ROUNDS // EPOCHS - 1:
                averages = after(ledger, averages, each.epoch)
                before = weights_of(ledger)
                ledger.close_epoch()
                assert carry_of(ledger) == nano(averages)
                assert weights_of(ledger) == before == nano(weights(averages, CAP))
        assert {*before} == drawn
        with ledger.queries() as queries:
            found = queries.weights()
            assert found.miners == MINERS
            assert {*found.without} == {name(n) for n in range(MINERS)} - drawn
        assert verify(ledger).snapshots == EPOCHS + 1


def test_who_has_no_slot_drops_out_and_begins_anew(where: str) -> None:
    with begun(where, miners=3) as ledger:
        ledger.close_round([record(f"t{n}", name(n)) for n in range(3)])
        ledger.close_epoch()
        kept = carry_of(ledger)
        ledger.sync_miners([{"uid": 0, "hotkey": name(0), "types": [PYTHON]}])
        assert {*weights_of(ledger)} == {name(0)}
        ledger.register(name(1), 1, [PYTHON])
        # within the epoch a slot was only left and taken again
        assert {*weights_of(ledger)} == {name(0), name(1)}
        ledger.close_epoch()
        assert carry_of(ledger) == {h: kept[h] for h in (name(0), name(1))}
        ledger.register(name(2), 2, [PYTHON])
        ledger.close_epoch()
        assert name(2) not in carry_of(ledger)


# --------------------------------------------------------------------------------------- adoption


def test_an_average_begins_empty_and_keeps_its_value_when_adopted(
    where: str, tmp_path: Path
) -> None:
    rules = tallystick.load(RULES)
    assert carried_names(state_rules_of(rules)) == ("average",)
    with begun(where, BEFORE, miners=2) as ledger:
        with ledger.queries() as queries:
            effect = effect_on(queries, queries.rules.only().digest, state_rules_of(rules))
        assert effect.begun == ("average",)
        ledger.adopt(RULES, 1)
        ledger.close_round([record(f"t{n}", name(n)) for n in range(2)])
        ledger.close_epoch()
        assert carry_of(ledger) == {}
        # the last closed round is of the rules before
        assert {*weights_of(ledger)} == {name(0), name(1)}
        ledger.close_round([record("t2", name(1), round=1, epoch=1)])
        assert {*weights_of(ledger)} == {name(1)}
        ledger.close_epoch()
        held = carry_of(ledger)
        assert {*held} == {name(1)}
        text = rules.loaded.text.replace("new = 0.2,", "new = 0.5,")
        (tmp_path / "other.toml").write_text(text.replace('= "1.2.0"', '= "1.3.0"', 1))
        ledger.adopt(tmp_path / "other.toml", 3)
        ledger.close_epoch()
        assert carry_of(ledger) == held
        with ledger.queries() as queries:
            published = state_rules_of(tallystick.load(BEFORE))
            effect = effect_on(queries, queries.rules.only().digest, published)
        assert effect.dropped == (("average", 1),)
        assert "carried column average: dropped, of 1 miner" in as_text(effect)
        assert json_value(effect)["dropped"] == [["average", 1]]
        ledger.adopt(BEFORE, 4, major=True)
        ledger.close_round([record("t3", name(0), round=3, epoch=3)])
        before = weights_of(ledger)
        assert {*before} == {name(0), name(1)}
        ledger.close_epoch()
        # gone with the rules that carried it; until a round is closed theirs still give the weights
        assert carry_of(ledger) == {}
        assert weights_of(ledger) == before
        ledger.close_round([record("t4", name(0), round=4, epoch=4)])
        assert {*weights_of(ledger)} == {name(0)}
        verify(ledger)


# ------------------------------------------------------------------------------------------- pools


@pytest.mark.parametrize(
    ("idle", "burn"), [("proportional", None), ("equal", None), ("burn", 7), ("burn", 1)]
)
def test_lines_come_to_one_vector_by_their_pools(where: str, idle: str, burn: int | None) -> None:
    shares = {"skills": Fraction("0.7"), "workflow": Fraction("0.3")}
    with Ledger.create(
        where,
        [RULES, "workflow@1.1.0"],
        pools={line: str(float(each)) for line, each in shares.items()},
        idle=idle,
        burn=burn,
    ) as ledger:
        for uid in range(9):
            ledger.register(name(uid), uid, [PYTHON, "workflow"])
        for lines in (
            [record(f"t{n}", name(n), latency_ms=30_000 + 4_000 * n) for n in range(5)],
            [task(n, name(n), 0.2 + n / 10, round=1) for n in range(3, 9)],
        ):
            ledger.close_round(lines)
            with ledger.queries() as queries:
                found = queries.shared_weights()
                assert found is not None
                own = {line: queries.line_weights(line).weights for line in shares}
            exactly = {
                line: {h: Fraction(n, NANO) for h, n in each.items()} for line, each in own.items()
            }
            wanted = blended(shares, exactly, idle, "" if burn is None else name(burn))
            slots = {int(hotkey[3:]): each for hotkey, each in nano(wanted).items()}
            published = map(from_decimal, found.weights)
            assert dict(zip(found.uids, published, strict=True)) == dict(sorted(slots.items()))
            assert abs(sum(slots.values()) - NANO) <= len(slots)
        ledger.share({"skills": "0.1", "workflow": "0.9"}, 1, idle="equal")
        ledger.close_epoch()
        with ledger.queries() as queries:
            other = queries.shared_weights()
        assert other is not None
        assert other.weights != found.weights
