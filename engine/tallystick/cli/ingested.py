"""What became of a file of records and events, for people."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tallystick.cli.log import complain
from tallystick.errors import cause_lines
from tallystick.io.text import visible

if TYPE_CHECKING:
    from tallystick.state.ingest import Ingested


def ingested_text(found: Ingested) -> str:
    """What was recorded, and what was not."""
    parts = {
        "recorded": found.events,
        "known already": found.duplicates,
        "in quarantine": sum(found.quarantined.values()),
        "refused": sum(found.refused.values()),
        "displaced": found.displaced,
        "released": found.released,
        "without effect": sum(found.left_out.values()),
    }
    always = ("recorded", "known already")
    return ", ".join(f"{n} {name}" for name, n in parts.items() if n or name in always)


def complain_of_lines(file: Path, found: Ingested) -> None:
    """Say what is not recorded, and end with 1 unless it only waits for its tasks."""
    for text in cause_lines(str(file), found.told):
        complain(visible(text))
    counts = (found.quarantined, found.refused, found.left_out)
    more = sum(sum(each.values()) for each in counts) - len(found.told)
    if more:
        complain(f"and {more} more")
    if not found.is_whole:
        sys.exit(1)
