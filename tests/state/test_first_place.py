"""A first place that a state remembers: settled as an epoch closes, carried, moved and pruned."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from state import subnet
from state.subnet import carry_of, weights_of

import tallystick
from tallystick.errors import StateError
from tallystick.numbers.nano import NANO, to_text
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify

RULES = "king@1.0.0"
Rewards = Mapping[str, float]
HISTORY: tuple[Rewards, ...] = (
    {"a": 0.5, "b": 0.4, "c": 0.1},
    {"a": 0.5, "b": 0.525, "c": 0.1},  # 0.5 · 1.05, which is not exceeded
    {"b": 0.52475, "c": 0.1},  # a is not drawn and stays; 0.99 of the margin are left
    {"a": 0.3, "b": 0.524501, "c": 0.1},  # 0.98 of it: 0.5245
    {"a": 0.6, "b": 0.1, "c": 0.551},  # 0.524501 · 1.05 are 0.55072605
    {"a": 0.1, "b": 0.62, "c": 0.629999},
)
"""The rewards of rounds, of which an epoch counts two."""
HELD = ("a", "0.5", 0), ("a", "0.5", 1), ("a", "0.5", 2), ("b", "0.524501", 0), ("a", "0.6", 0)
HOLDERS = (*HELD, ("a", "0.6", 1))
"""Who holds after each round, with what value, and the rounds since, by hand."""


def records(number: int, epoch: int, rewards: Rewards) -> list[dict[str, Any]]:
    return [
        {
            "skill_type": "reward",
            "task_id": f"{number}-{key}",
            "validator": "val-1",
            "round": number,
            "epoch": epoch,
            "role": "primary",
            "miner": {"uid": ord(key) - ord("a"), "hotkey": key},
            "checks": {"reward": reward},
        }
        for key, reward in rewards.items()
    ]


def begun(place: Path, rules: Path | str = RULES) -> Ledger:
    return subnet.begun(place, rules, "abc", ["reward"])


def columns_of(holder: str, value: str, reign: int) -> dict[str, dict[str, int]]:
    """The columns that are carried of a holder, in nano."""
    held = int(Decimal(value) * NANO)
    return {
        "king": {holder: NANO},
        "king.held": {holder: held},
        "king.reign": {holder: reign * NANO},
    }


def fed(ledger: Ledger, rounds: Iterable[int]) -> None:
    """Close rounds, and each epoch after its second one."""
    for number in rounds:
        ledger.close_round(records(number, number // 2, HISTORY[number]))
        holder, _, _ = HOLDERS[number]
        # in the open epoch what its rounds come to so far counts
        assert weights_of(ledger, "king") == {holder: NANO // 2, "owner": NANO // 2}
        if number % 2:
            ledger.close_epoch()
            assert carry_of(ledger, "king") == columns_of(*HOLDERS[number])
            assert weights_of(ledger, "king") == {holder: NANO // 2, "owner": NANO // 2}


def test_a_place_is_settled_as_an_epoch_closes_and_outlives_a_restart(tmp_path: Path) -> None:
    for number in range(len(HISTORY)):
        opened = begun(tmp_path / "s.db") if number == 0 else Ledger.open(tmp_path / "s.db")
        with opened as ledger:
            fed(ledger, [number])
    with Ledger.open(tmp_path / "s.db") as ledger:
        assert verify(ledger).snapshots == len(HISTORY) // 2 + 1
        assert carry_of(ledger, "king") == columns_of(*HOLDERS[-1])


def test_a_state_begins_with_a_holder(tmp_path: Path) -> None:
    texts = {
        name: {key: to_text(n) for key, n in c.items()} for name, c in columns_of(*HELD[3]).items()
    }
    miners = {
        key: {
            "uid": uid,
            "types": ["reward"],
            "columns": {"king": {name: c[key] for name, c in texts.items() if key in c}},
        }
        for uid, key in enumerate("abc")
    }
    path = tmp_path / "carry.json"
    path.write_text(json.dumps({"format": 1, "miners": miners}), encoding="utf-8")
    with Ledger.create(tmp_path / "s.db", RULES, carry=path) as ledger:
        assert carry_of(ledger, "king") == columns_of(*HELD[3])
        for number in (4, 5):
            ledger.close_round(records(number, 0, HISTORY[number]))
        ledger.close_epoch()
        assert carry_of(ledger, "king") == columns_of(*HOLDERS[-1])
    miners["a"]["columns"] = {"king": {"king.heir": "1.000000000"}}
    path.write_text(json.dumps({"format": 1, "miners": miners}), encoding="utf-8")
    with pytest.raises(StateError, match=r"expected king or king\.held or king\.reign"):
        Ledger.create(tmp_path / "t.db", RULES, carry=path)


def test_a_pruned_state_goes_on_as_its_twin(tmp_path: Path) -> None:
    found = set()
    for place in ("whole", "pruned"):
        with begun(tmp_path / f"{place}.db") as ledger:
            fed(ledger, range(4))
            if place == "pruned":
                ledger.prune(1)
            fed(ledger, [4, 5])
            found.add((str(carry_of(ledger, "king")), str(weights_of(ledger, "king"))))
            assert verify(ledger).snapshots
    assert len(found) == 1


def test_who_loses_its_slot_loses_the_place(tmp_path: Path) -> None:
    with begun(tmp_path / "s.db") as ledger:
        fed(ledger, [0, 1])
        ledger.register("d", 0, ["reward"])
        ledger.close_round(records(2, 1, {"b": 0.3, "c": 0.2}))
        ledger.close_epoch()
        assert carry_of(ledger, "king") == columns_of("b", "0.3", 0)


def test_a_memory_of_another_kind_is_not_taken_for_holders(tmp_path: Path) -> None:
    text = tallystick.load(RULES).loaded.text
    (hold,) = re.findall(r'do = "hold", of = "score".*(?= \})', text)
    average = 'do = "average", of = "score", new = 0.5, leaver = "keep", normalise = false'
    before, after = tmp_path / "before.toml", tmp_path / "after.toml"
    before.write_text(text.replace(hold, average), encoding="utf-8")
    after.write_text(text.replace('"1.0.0"', '"1.1.0"'), encoding="utf-8")
    with begun(tmp_path / "s.db", before) as ledger:
        ledger.close_round(records(0, 0, HISTORY[0]))
        ledger.adopt(after, 1)
        ledger.close_epoch()
        with ledger.queries() as queries:
            assert queries.state.carry == {}
        ledger.close_round(records(1, 1, {"b": 0.3, "c": 0.2}))
        ledger.close_epoch()
        assert carry_of(ledger, "king") == columns_of("b", "0.3", 0)
        assert verify(ledger).snapshots == 3
