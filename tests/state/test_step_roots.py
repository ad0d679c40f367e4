"""Roots of steps: arrival does not matter to them, and one change changes one row."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import jsonschema
import pytest
from state.chronicle import VALIDATORS, Epoch, clear, feed, history, register
from state.subnet import Record, written

from tallystick.canonical import canonical_bytes
from tallystick.errors import StateError
from tallystick.json_values import json_value
from tallystick.resources import schema_path
from tallystick_state.ledger import Ledger
from tallystick_state.step_roots import STEPS, EpochLeaf, row_key

Rows = Sequence[Mapping[str, list[bytes] | None]]
Feed = Callable[[Ledger, Epoch, Path], None]
SALT = "0123456789abcdef" * 2


def lived(
    where: Path, rules: str, told: Sequence[Epoch], fed: Feed = feed
) -> tuple[tuple[EpochLeaf, ...], Rows]:
    """The leaves of a history, and the rows of its steps."""
    where.mkdir()
    with Ledger.create(str(where / "state.db"), rules) as ledger:
        for epoch in told:
            fed(ledger, epoch, where)
            records = [line for line in epoch.lines if "event" not in line]
            ledger.close_round(written(where / "again.jsonl", records))
            ledger.close_epoch()
        with ledger.epoch_log() as log:
            return log.leaves, [log.rows(epoch) for epoch in range(len(told))]


def backwards_by_validator(ledger: Ledger, epoch: Epoch, folder: Path) -> None:
    """The last registration first, and a file of each validator from its end."""
    for each in reversed({each.hotkey: each for each in epoch.newcomers}.values()):
        ledger.register(each.hotkey, 60_000 + each.uid, each.types)
    register(ledger, epoch)
    for validator in reversed(VALIDATORS):
        lines = [line for line in reversed(epoch.lines) if line["validator"] == validator]
        if lines:
            ledger.import_events(written(folder / "lines.jsonl", lines))
    clear(ledger, epoch)


def test_arrival_does_not_matter(tmp_path: Path) -> None:
    told = history(7, epochs=2, plain=True)
    one = lived(tmp_path / "a", "skills@1.1.0", told)
    assert lived(tmp_path / "b", "skills@1.1.0", told, backwards_by_validator) == one
    assert all(rows[step] for rows in one[1] for step in STEPS if step != "facts")


def test_rows_are_canonical_and_in_the_order_of_their_keys(tmp_path: Path) -> None:
    leaves, epochs = lived(tmp_path / "a", "skills@1.2.0", history(7, epochs=2))
    schema = json.loads(schema_path("epoch-leaf-1").read_text())
    for leaf, steps in zip(leaves, epochs, strict=True):
        jsonschema.validate(json_value(leaf), schema)
        assert EpochLeaf.of_value(json.loads(leaf.to_bytes())) == leaf
        for step, rows in steps.items():
            root = leaf.steps[step]
            assert (root is None) == (rows is None)
            values = [json.loads(row) for row in rows or ()]
            assert [canonical_bytes(value) for value in values] == (rows or [])
            keys = [row_key(value) for value in values]
            assert keys == sorted(set(keys))


def changed(told: Sequence[Epoch], change: Mapping[str, Any]) -> list[Epoch]:
    """The history with one record of the last epoch changed."""
    *others, last = told
    place = next(n for n, line in enumerate(last.lines) if "submission" in line)
    lines: list[Record] = [*last.lines]
    lines[place] = {**lines[place], **change}
    return [*others, attrs.evolve(last, lines=lines)]


def test_one_changed_record_changes_one_row_and_no_earlier_epoch(tmp_path: Path) -> None:
    told = history(7, epochs=2)
    one = lived(tmp_path / "a", "skills@1.1.0", told)
    other = lived(tmp_path / "b", "skills@1.1.0", changed(told, {"consensus": 0.123}))
    assert one[0][0] == other[0][0]
    for step in ("inputs", "results"):
        pairs = zip(one[1][1][step] or (), other[1][1][step] or (), strict=True)
        assert sum(mine != theirs for mine, theirs in pairs) == 1


def test_a_salt_goes_into_the_leaf_alone(tmp_path: Path) -> None:
    def leaf(name: str, salt: str | None) -> EpochLeaf:
        with Ledger.create(str(tmp_path / name), "skills@1.1.0") as ledger:
            register(ledger, history(7, epochs=1)[0])
            ledger.close_epoch(salt=salt)
            with ledger.epoch_log() as log:
                return log.leaves[0]

    plain, salted = leaf("a", None), leaf("b", SALT)
    assert salted == attrs.evolve(plain, salt=SALT)
    assert salted.to_bytes() != plain.to_bytes()


@pytest.mark.parametrize("salt", ["", SALT[:-2], SALT.upper(), SALT[:-1], "0x" + SALT, SALT * 5])
def test_a_short_salt_is_refused_and_nothing_is_closed(salt: str, tmp_path: Path) -> None:
    with Ledger.create(str(tmp_path / "state.db"), "skills@1.1.0") as ledger:
        with pytest.raises(StateError) as caught:
            ledger.close_epoch(salt=salt)
        assert caught.value.code == "short-salt"
        assert ledger.open_epoch() == 0


@pytest.mark.parametrize("first", [SALT, None])
def test_a_closed_epoch_takes_no_other_salt(first: str | None, tmp_path: Path) -> None:
    """Who believed it to be in the leaf would publish it, and nobody could open the leaf."""
    with Ledger.create(str(tmp_path / "state.db"), "skills@1.1.0") as ledger:
        ledger.close_epoch(0, salt=first)
        assert ledger.close_epoch(0, salt=first).already
        assert ledger.close_epoch(0).already
        with pytest.raises(StateError) as caught:
            ledger.close_epoch(0, salt=SALT[::-1])
        assert caught.value.code == "other-salt"
        assert SALT not in str(caught.value)
