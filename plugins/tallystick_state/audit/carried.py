"""Carried values as rows: what the first epoch begins with, in the form in which epochs follow.

A row of the first epoch follows from the values with which the state began as any other does from
the rows of the epoch before. The leaf of each epoch has their digest, so both sides vouch for them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from tallystick.canonical import canonical_bytes
from tallystick.numbers.nano import to_text
from tallystick_state.event import COUNTED_IN, StateEvent
from tallystick_state.genesis import Carry
from tallystick_state.model import State, structure, unstructure
from tallystick_state.step_roots import Key, LeafRow, RootedStep, result_row, row_key
from tallystick_state.store.transaction import Transaction
from tallystick_state.trust.proof import bad_proof


@attrs.frozen
class CarriedValues:
    """The values with which a state began.

    Attributes:
        state: before the first epoch.
        records: those that windows look back on.
    """

    state: State
    records: tuple[StateEvent, ...]

    @classmethod
    def of_log(cls, carry: Carry | None, transaction: Transaction) -> CarriedValues | None:
        """Return the values of a state; None where it began without, or its records were pruned."""
        if carry is None:
            return None
        values = cls(carry.state, tuple(transaction.events(COUNTED_IN)))
        return values if values.digest == carry.digest else None

    @classmethod
    def of_value(cls, value: Mapping[str, Any]) -> CarriedValues:
        """Return the values that a file has.

        Raises:
            DamagedError: a record is none.
            KeyError: a part is missing.
            TypeError: a part is of another kind.
            ValueError: a part cannot be.
        """
        lines = (canonical_bytes(record).decode() for record in value["records"])
        return cls(structure(value["state"], State), tuple(map(StateEvent.from_line, lines)))

    @property
    def digest(self) -> str:
        """The digest that leaves have."""
        return Carry.of(self.state, self.records).digest

    def to_value(self) -> dict[str, Any]:
        """Return the values as JSON."""
        records = [json.loads(record.to_line()) for record in self.records]
        return {"records": records, "state": unstructure(self.state)}

    def rows(self, step: RootedStep, prefix: Key = ()) -> Sequence[LeafRow]:
        """Return the rows of a step before the first epoch, whose keys begin with a prefix."""
        return [row for row in self._rows(step) if row_key(row)[: len(prefix)] == tuple(prefix)]

    def _rows(self, step: RootedStep) -> Iterable[LeafRow]:
        match step:
            case "results":
                return map(result_row, self.records)
            case "reputations":
                miners = self.state.miners.items()
                return (
                    (hotkey, name, {"next": to_text(nano)})
                    for hotkey, miner in miners
                    for name, nano in miner.reputation.items()
                )
            case "thresholds":
                return (
                    (name, threshold, {"next": to_text(nano)})
                    for name, thresholds in self.state.thresholds.items()
                    for threshold, nano in thresholds.items()
                )
            case "weights":
                return self._columns()
        return ()

    def _columns(self) -> Iterator[LeafRow]:
        for line, columns in self.state.carry.items():
            for hotkey in self.state.miners:
                carry = {n: to_text(c[hotkey]) for n, c in columns.items() if hotkey in c}
                yield (hotkey, line, {"carry": carry})


def check_carried(values: CarriedValues | None, digest: str | None) -> None:
    """Refuse other values than those whose digest the leaves have.

    Raises:
        TrustError: they are others, are missing, or are given where there are none.
    """
    found = None if values is None else values.digest
    if found != digest:
        raise bad_proof(
            "the carried values", found or "none", f"those of {digest}" if digest else "none"
        )
