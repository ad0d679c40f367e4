"""The outcome of a file of records and events, for people."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tallystick.cli.command import status_of
from tallystick.cli.log import complain
from tallystick.errors import INTERNAL_ERROR, cause_lines
from tallystick.io.text import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tallystick_state.ingest import Ingested


def ingested_text(found: Ingested) -> str:
    """Return the numbers of events that were recorded and that were not, as text."""
    parts = {
        "recorded": found.events,
        "known already": found.duplicates,
        f"in quarantine ({_reasons(found.quarantined)})": sum(found.quarantined.values()),
        f"refused ({_reasons(found.refused)})": sum(found.refused.values()),
        "displaced (recorded before, now in quarantine)": found.displaced,
        "released (in quarantine before, now recorded)": found.released,
        f"without effect ({_reasons(found.left_out)})": sum(found.left_out.values()),
    }
    always = ("recorded", "known already")
    return ", ".join(f"{n} {name}" for name, n in parts.items() if n or name in always)


def _reasons(found: Mapping[str, int]) -> str:
    """Return the codes, each with how many there are where there are several codes."""
    if len(found) == 1:
        return visible(next(iter(found)))
    return ", ".join(f"{many} {visible(code)}" for code, many in found.items())


def complain_of_lines(file: Path, found: Ingested) -> None:
    """Report events that are not recorded; end with 1 unless they only wait for their tasks.

    Where the engine itself fails on one, end with 3.
    """
    for text in cause_lines(str(file), found.told):
        complain(visible(text))
    counts = (found.quarantined, found.refused, found.left_out)
    more = sum(sum(by_code.values()) for by_code in counts) - len(found.told)
    if more:
        complain(f"and {more} more")
    if not found.is_whole:
        sys.exit(status_of(1, found.refused.get(INTERNAL_ERROR, 0)))
