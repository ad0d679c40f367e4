"""Replay: applying the entries of a log again, and proving that they lead to the same."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from tallystick.errors import DamagedError, StateError
from tallystick.state.admission import refusal
from tallystick.state.chain import Entry
from tallystick.state.event import StateEvent
from tallystick.state.event_log import SIGNAL, EventLog

SIGNALS = 10_000
"""How many signals in a row are applied at a time."""


def replay(journal: EventLog, entries: Iterable[Entry]) -> None:
    """Apply entries, in their order, to the journal of an empty or a shorter store.

    Raises:
        DamagedError: an entry says what its state does not allow, or leads to something else than
            it says.
    """
    for _, group in groupby(entries, key=_run):
        chunk = list(group)
        try:
            _apply(journal, chunk)
        except (StateError, KeyError, TypeError, ValueError) as error:
            raise DamagedError(
                f"entries {chunk[0].seq} to {chunk[-1].seq} of the log cannot be applied: {error}"
            ) from error
        if journal.hash != chunk[-1].hash:
            raise DamagedError(
                f"entry {chunk[-1].seq} of the log ({chunk[-1].kind}): found "
                f"{chunk[-1].body:.200}, expected what the entries before it lead to: "
                "the log was changed"
            )


def _run(entry: Entry) -> tuple[str, int]:
    """What entries that are applied together share: signals in a row do, others stand alone."""
    return entry.kind, entry.seq // SIGNALS if entry.kind == SIGNAL else entry.seq


def _apply(journal: EventLog, chunk: list[Entry]) -> None:
    if chunk[0].kind != SIGNAL:
        _apply_one(journal, chunk[0].kind, json.loads(chunk[0].body))
        return
    signals = [StateEvent.from_dict(json.loads(entry.body)) for entry in chunk]
    for entry, signal in zip(chunk, signals, strict=True):
        refused = refusal(journal.state, journal.law, entry.seq, signal)
        if refused is not None:
            raise StateError(f"{refused.code}: found {refused.value}, expected {refused.expected}")
    journal.record(signals)


def _apply_one(journal: EventLog, kind: str, body: dict[str, Any]) -> None:
    match kind:
        case "genesis":
            journal.begin(body["rule_set"]["text"])
        case "miner":
            journal.register(body["hotkey"], body["uid"], body["types"])
        case "clear":
            journal.clear(body["hotkey"], body["at"])
        case "round":
            journal.close_round(body["round"], body["at"])
        case "epoch":
            journal.close_epoch(body["at"])
        case "group":
            asked = body["skill_type"], body["round"], body["seed"], body["epoch"]
            journal.select_group(*asked)
        case _:
            raise StateError(f"found the entry kind {kind!r}, expected one that is known")
