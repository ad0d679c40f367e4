"""Records that a state refuses: a message with the line, and nothing has changed.

That every code is given where it should is in the vectors.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from examples import fast_rows
from state.subnet import Record, begun, event, record, standing_of, written

from tallystick.errors import RefusedError
from tallystick_state.ledger import Ledger

PYTHON = "executable_python"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Two miners; round 0 is recorded."""
    with begun(str(tmp_path / "state.db"), "skills@1.0.0") as found:
        found.register("hk-2", 2, [PYTHON])
        found.close_round([record("t1"), record("t2", "hk-2"), event("e1", "rerun_fail", "t1")])
        yield found


Feed = Callable[[Path], object]


def refused(ledger: Ledger, feed: Feed, folder: Path, lines: list[Record]) -> str:
    """The message of a file that is refused, and changes nothing."""
    before, path = standing_of(ledger), written(folder / "bad.jsonl", lines)
    with pytest.raises(RefusedError) as caught:
        feed(path)
    assert standing_of(ledger) == before
    return str(caught.value).replace(str(path), "F")


ONE = "F: found 1 bad line, expected none: nothing was recorded\nF:"
GOOD = record("t3")
STRANGER = 'found "nobody", expected a registered miner: register it with tallystick miner register'
UNDECLARED = 'found "mcp_server", expected one that hk-1 declared: executable_python'
TO_COME = "expected at most 0, the open epoch: close the epochs before it first"
BAD: dict[str, tuple[list[Record], str]] = {
    "unknown-miner": (
        [GOOD, record("t4", "nobody")],
        f"2: unknown-miner: miner.hotkey: {STRANGER}",
    ),
    "unknown-miner of an event": (
        [GOOD, event("e4", "rerun_fail", "t4", "nobody")],
        f"2: unknown-miner: hotkey: {STRANGER}",
    ),
    "undeclared-type": (
        [record("t4", skill_type="mcp_server")],
        f"1: undeclared-type: skill_type: {UNDECLARED}",
    ),
    "future-epoch": (
        [record("t4", epoch=1)],
        f"1: future-epoch: epoch: found 1, {TO_COME}",
    ),
    "future-epoch of an event": (
        [event("e4", "rerun_fail", "t4", epoch=2_147_483_647)],
        f"1: future-epoch: epoch: found 2147483647, {TO_COME}",
    ),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("close", fast_rows([False, True], 1), ids=["events import", "round close"])
def test_a_bad_line_is_told_and_nothing_changes(
    ledger: Ledger, tmp_path: Path, case: str, *, close: bool
) -> None:
    lines, message = BAD[case]
    feed = ledger.close_round if close else ledger.import_events
    assert refused(ledger, feed, tmp_path, lines) == ONE + message


def test_a_record_of_another_round(ledger: Ledger, tmp_path: Path) -> None:
    lines = [GOOD, record("t4", round=2)]
    found = refused(ledger, partial(ledger.close_round, number=0), tmp_path, lines)
    assert found == f"{ONE}2: other-round: round: found 2, expected the round 0"


def test_of_many_bad_lines_each_cause_is_told_once_and_all_are_kept(ledger: Ledger) -> None:
    with pytest.raises(RefusedError) as caught:
        ledger.import_events([record(f"t{n}", epoch=3) for n in range(5000)])
    assert len(caught.value.refusals) == 5000
    head, line = str(caught.value).splitlines()
    assert head.endswith("found 5000 bad lines, expected none: nothing was recorded")
    assert ":1: future-epoch: epoch: found 3, expected" in line
    assert line.endswith("; the same in 4999 more lines: 2, 3, 4, 5, 6, …")
