"""What a state refuses: a message with the line, and nothing has changed.

That every code is given where it should is in the vectors.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import attrs
import pytest
from examples import fast_rows
from state.chronicle import digest_of
from state.subnet import Record, begun, event, record, written

from tallystick.errors import RefusedError
from tallystick_state.ledger import Ledger
from tallystick_state.transfer import export_state

PYTHON = "executable_python"


@attrs.frozen
class Subnet:
    ledger: Ledger
    folder: Path

    def look(self) -> tuple[str, bytes]:
        """The digest of the state and every byte of its log."""
        export_state(self.ledger, self.folder / "export.jsonl")
        return digest_of(self.ledger), (self.folder / "export.jsonl").read_bytes()

    def refused(
        self, lines: list[Record], *, number: int | None = None, close: bool = False
    ) -> str:
        """The message of a file that is refused, and changes nothing."""
        before, path = self.look(), written(self.folder / "bad.jsonl", lines)
        closes = partial(self.ledger.close_round, number=number)
        feed = closes if close else self.ledger.import_events
        with pytest.raises(RefusedError) as caught:
            feed(path)
        assert self.look() == before
        return str(caught.value).replace(str(path), "F")


@pytest.fixture
def subnet(tmp_path: Path) -> Iterator[Subnet]:
    """Two miners; round 0 is recorded."""
    with begun(str(tmp_path / "state.db"), "skills@1.0.0") as ledger:
        ledger.register("hk-2", 2, [PYTHON])
        lines = [record("t1"), record("t2", "hk-2"), event("e1", "rerun_fail", "t1")]
        ledger.close_round(written(tmp_path / "r.jsonl", lines))
        yield Subnet(ledger, tmp_path)


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
        [GOOD, GOOD, record("t4", epoch=1)],
        f"3: future-epoch: epoch: found 1, {TO_COME}",
    ),
    "future-epoch of an event": (
        [event("e4", "rerun_fail", "t4", epoch=2_147_483_647)],
        f"1: future-epoch: epoch: found 2147483647, {TO_COME}",
    ),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("close", fast_rows([False, True], 1), ids=["events import", "round close"])
def test_a_bad_line_is_told_and_nothing_changes(subnet: Subnet, case: str, *, close: bool) -> None:
    lines, message = BAD[case]
    found = subnet.refused(lines, close=close)
    if close and case.startswith("future-epoch") and len(lines) > 1:
        # the line also contradicts the lines before it
        assert "F:3: other-epoch: epoch: found 1, expected the epoch 0" in found
    else:
        assert found == ONE + message


def test_a_record_of_another_round(subnet: Subnet) -> None:
    found = subnet.refused([GOOD, record("t4", round=2)], number=0, close=True)
    assert found == f"{ONE}2: other-round: round: found 2, expected the round 0"


def test_of_many_bad_lines_each_cause_is_told_once_and_all_are_kept(subnet: Subnet) -> None:
    path = written(subnet.folder / "bad.jsonl", [record(f"t{n}", epoch=3) for n in range(5000)])
    with pytest.raises(RefusedError) as caught:
        subnet.ledger.import_events(path)
    assert len(caught.value.refusals) == 5000
    head, line = str(caught.value).splitlines()
    assert head.endswith("found 5000 bad lines, expected none: nothing was recorded")
    assert ":1: future-epoch: epoch: found 3, expected" in line
    assert line.endswith("; the same in 4999 more lines: 2, 3, 4, 5, 6, …")
