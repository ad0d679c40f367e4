"""Kept facts: the facts of what a state has recorded, for back-tests of other rules."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tallystick.canonical import PREFIX
from tallystick.io.sources import input_digest
from tallystick.plugins.registry import installed
from tallystick.records.decoding import Item
from tallystick.scoring.facts.run import extract_file
from tallystick.scoring.sources import source_of
from tallystick_consensus.run import GroupFile
from tallystick_state.answers import ClosedRound
from tallystick_state.event_decoder import EventDecoder
from tallystick_state.ledger import Ledger
from tallystick_state.round_groups import RoundGroups

_DIGITS = 16


def keep_facts(
    ledger: Ledger,
    records: Path,
    rounds: Sequence[ClosedRound],
    folder: Path,
    groups: Path | None = None,
) -> None:
    """Write the facts of recorded records into a folder, in one file for a file of records.

    It may be called again with the same records, and then writes the same file.

    Args:
        ledger: the state that recorded them.
        records: the file that it was given.
        rounds: what was closed; other records leave no facts.
        folder: where facts are kept.
        groups: the file of the groups that came with the records, whose consensus is a fact.

    Raises:
        InputError: a file cannot be read.
        OutputError: the folder cannot be written.
    """
    with ledger.queries() as queries:
        recorded = frozenset().union(*(queries.recorded(closed.round) for closed in rounds))
    # seeds draw who is to be run again, and nothing of a fact
    lines = None if groups is None else GroupFile(groups).lines()
    filled = None if lines is None else RoundGroups.of(lines, ledger.scorer, {})
    decoder = EventDecoder(ledger.scorer, filled)
    with TemporaryDirectory() as temporary:
        kept = Path(temporary) / "records.jsonl"
        with kept.open("wb") as file:
            for chunk in source_of(records):
                items = chunk.items()
                for number, event in decoder.events(chunk).events:
                    if event.record in recorded:
                        item = items[number - chunk.first]
                        file.write(_line(item if filled is None else filled.filled(event, item)))
        if kept.stat().st_size:
            folder.mkdir(parents=True, exist_ok=True)
            name = input_digest(records).removeprefix(PREFIX)[:_DIGITS]
            rejects = kept.with_name("rejects.jsonl")
            extract_file(kept, folder / f"{name}.parquet", installed(), rejects=rejects)


def _line(item: Item) -> bytes:
    return (item if isinstance(item, bytes) else json.dumps(item).encode()) + b"\n"
