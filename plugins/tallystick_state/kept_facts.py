"""Kept facts: the facts of what a state has recorded, for back-tests of other rules."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tallystick.canonical import PREFIX
from tallystick.io.sources import input_digest
from tallystick.plugins.registry import installed
from tallystick.records.rejects import Reject
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
    scorer = ledger.scorer
    # seeds draw who is to be run again, and nothing of a fact
    joined = None if groups is None else RoundGroups.of(GroupFile(groups).lines(), scorer, {})
    decoder = EventDecoder(scorer, joined)
    with TemporaryDirectory() as temporary:
        kept = Path(temporary) / "records.jsonl"
        with kept.open("wb") as file:
            for chunk in source_of(records):
                for _, item, event, _ in decoder.records(enumerate(chunk.items(), chunk.first)):
                    if not isinstance(event, Reject) and event.record in recorded:
                        line = item if isinstance(item, bytes) else json.dumps(item).encode()
                        file.write(line + b"\n")
        if kept.stat().st_size:
            folder.mkdir(parents=True, exist_ok=True)
            name = input_digest(records).removeprefix(PREFIX)[:_DIGITS]
            rejects = kept.with_name("rejects.jsonl")
            extract_file(kept, folder / f"{name}.parquet", installed(), rejects=rejects)
