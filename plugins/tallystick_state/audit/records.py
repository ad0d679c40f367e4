"""Records that somebody has: those with the key of a row, from a file of JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tallystick.io.inputs import opened
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick_state.step_roots import Key

RecordsOf = Callable[[Key], Iterable[Mapping[str, Any]]]
"""The records with the key of a row of inputs."""


def records_of(path: Path) -> RecordsOf:
    """The records of a file by their keys; lines that are no records are passed over.

    Raises:
        InputError: the file cannot be read, once records are asked for.
    """

    def records(key: Key) -> Iterator[Mapping[str, Any]]:
        with opened(path) as file:
            for line in iter(lambda: file.readline(MAX_LINE_BYTES), b""):
                try:
                    found = json.loads(line)
                    if record_key(found) == key:
                        yield found
                except (ValueError, KeyError, TypeError, RecursionError):
                    continue

    return records


def record_key(record: Mapping[str, Any]) -> Key:
    """The key of a record in the first steps.

    Raises:
        KeyError: it is no record.
    """
    miner = record["miner"]["hotkey"], record["skill_type"], record["validator"]
    return (*miner, record["round"], record["task_id"], record["epoch"], "")
