"""Disputes about what groups say: alignments, and the flags that the engine gives for them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from audit.test_rederive import agreed, check_rows
from state.store.test_round_groups import begun, feed, flags, of_round

from tallystick.plugins.registry import installed_plugins
from tallystick_state.audit.dispute import Dispute, dispute
from tallystick_state.audit.side import opened_side
from tallystick_state.event_log import EventLog
from tallystick_state.ledger import Ledger


def disputed(a: Path, b: Path) -> Dispute:
    with opened_side(a) as mine, opened_side(b) as theirs:
        return dispute(mine, theirs, installed_plugins())


@contextmanager
def without_flags(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setattr(EventLog, "flag_colluders", lambda _: None)
        yield


@pytest.mark.nightly
def test_flags_follow_from_the_alignments_of_earlier_epochs(tmp_path: Path) -> None:
    with begun(str(tmp_path / "a.db"), "skills@1.2.0") as ledger:
        for epoch in range(3):
            feed(ledger, range(4 * epoch, 4 * epoch + 4), epoch=epoch)
            ledger.close_epoch()
        assert [len(flags(ledger, epoch)) for epoch in range(3)] == [0, 3, 3]
    with opened_side(tmp_path / "a.db") as side:
        known = agreed(side)
        for epoch in range(3):
            check_rows(known, epoch, side)


@pytest.mark.nightly
def test_a_side_that_does_not_flag_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with begun(str(tmp_path / "a.db"), "skills@1.2.0") as ledger:
        feed(ledger, range(5))
        ledger.close_epoch()
    with begun(str(tmp_path / "b.db"), "skills@1.2.0") as ledger, without_flags(monkeypatch):
        feed(ledger, range(5))
        ledger.close_epoch()
    found = disputed(tmp_path / "a.db", tmp_path / "b.db")
    assert (found.verdict.step, found.verdict.kind, found.verdict.wrong) == (
        "deltas",
        "arithmetic",
        "b",
    )
    assert found.verdict.key is not None
    assert found.verdict.key[:4] == ("hk-0", "executable_python", "", 4)
    found.check(installed_plugins())


def test_alignments_that_differ_are_told_before_the_flags_that_follow(tmp_path: Path) -> None:
    """The groups differ in roles alone, so the consensus of every record is the same."""
    for name in ("a", "b"):
        with begun(str(tmp_path / f"{name}.db"), "skills@1.2.0") as ledger:
            feed(ledger, range(4))
            records, group = of_round(4)
            if name == "b":
                for member in group["members"]:
                    member["role"] = "primary"
            ledger.close_round(records, groups=[group])
            ledger.close_epoch()
    with Ledger.open(str(tmp_path / "b.db")) as ledger:
        assert flags(ledger, 0) == []
    found = disputed(tmp_path / "a.db", tmp_path / "b.db")
    assert (found.verdict.step, found.verdict.kind, found.verdict.wrong) == (
        "results",
        "input",
        "undecided",
    )
    assert "compare the groups" in found.verdict.reason
    found.check(installed_plugins())
