"""States whose closed epochs are the same are compared in the open one."""

from pathlib import Path

import pytest
from cli.command import run
from examples import fast_rows
from state.subnet import Record, begun, event, hotkeys, missed, record

from tallystick_state.audit.states_audit import audit_states
from tallystick_state.ledger import Ledger

PYTHON = "executable_python"


def state(folder: Path, name: str, *lines: Record, epochs: int = 0, rules: str = "1.1.0") -> Path:
    """A state of two miners with some closed epochs and lines in the open one."""
    where = folder / f"{name}.db"
    with begun(where, f"skills@{rules}", hotkeys(2)) as ledger:
        for _ in range(epochs):
            ledger.close_epoch()
        if lines:
            ledger.import_events([*lines])
    return where


def at(
    number: int, task: str = "t1", hotkey: str = "hk-0", *, consensus: float | None = 1.0
) -> Record:
    return record(task, hotkey, round=number, consensus=consensus)


LACKS = "side {} has nothing with this key: a batch that its validator signed"
CASES: dict[str, tuple[list[Record], list[Record], str, str, str]] = {
    "one lacks a record": ([at(7), at(8)], [at(8)], "membership", LACKS.format("b"), "t1/7/"),
    "others differ too": ([at(9, "t9")], [at(3), at(4)], "membership", LACKS.format("a"), "t1/3/"),
    "one says something else": (
        [at(7, consensus=0.5)],
        [at(7, consensus=0.6)],
        "input",
        "they have other digests of what the validator said",
        "t1/7/",
    ),
    "an event that came alone": (
        [at(7), event("e-1", "rerun_pass", "t1", "hk-0", round=7)],
        [at(7)],
        "membership",
        LACKS.format("b"),
        "t1/7/e-1",
    ),
    "a missed deadline": (
        [missed("t1", "hk-0", round=2)],
        [],
        "membership",
        LACKS.format("b"),
        "t1/2/",
    ),
}


@pytest.mark.parametrize("epochs", fast_rows([0, 2], 0))
@pytest.mark.parametrize("case", fast_rows(CASES, 0, 2))
def test_the_round_and_the_claim_are_named(case: str, epochs: int, tmp_path: Path) -> None:
    mine, theirs, kind, reason, claim = CASES[case]
    a = state(tmp_path, "a", *mine, epochs=epochs)
    b = state(tmp_path, "b", *theirs, epochs=epochs)
    found = audit_states(a, b)
    assert (found.kind, found.epoch, found.wrong) == (kind, epochs, "undecided")
    assert found.step == "inputs"
    hotkey, skill_type, validator, number, task, _, identity = found.key or ()
    assert (hotkey, skill_type, validator) == ("hk-0", PYTHON, "val-1")
    assert f"{task}/{number}/{identity}" == claim
    assert found.reason.startswith(reason)
    assert found.reason.endswith("; 2 more differ") == (case == "others differ too")
    command = run("audit", "states", a, b)
    assert command.status == 1
    assert f"{kind}: epoch {epochs}, step inputs, row [" in command.out
    assert reason in command.out


def test_a_claim_that_waits_on_the_other_side_is_told(tmp_path: Path) -> None:
    both = [at(1), at(1, consensus=0.2)]
    found = audit_states(state(tmp_path, "a", at(1)), state(tmp_path, "b", *both))
    assert found.reason.startswith(
        "side b has nothing with this key, but in quarantine (conflict): a batch"
    )


def test_the_same_in_another_order_is_equal(tmp_path: Path) -> None:
    lines = [at(2), at(1, "t2", "hk-1"), event("e", "probe_fail", "t2", "hk-1", round=1)]
    a, b = state(tmp_path, "a", *lines), state(tmp_path, "b", *reversed(lines))
    assert audit_states(a, b).kind == "equal"
    assert run("audit", "states", a, b).out == (
        "equal: all 0 closed epochs are the same, and so is the open one\n"
    )


def test_rules_that_one_has_scheduled_are_told_before_they_begin(tmp_path: Path) -> None:
    a, b = state(tmp_path, "a", at(1)), state(tmp_path, "b")
    with Ledger.open(a) as ledger:
        ledger.adopt("skills@1.2.0", 3)
    found = audit_states(a, b)
    assert (found.kind, found.epoch) == ("rules", 0)
    assert "other rules in force or scheduled" in found.reason
    with Ledger.open(b) as ledger:
        ledger.adopt("skills@1.2.0", 3)
    assert audit_states(a, b).kind == "membership"


def test_registrations_and_flags_are_told(tmp_path: Path) -> None:
    a, b = state(tmp_path, "a"), state(tmp_path, "b")
    with Ledger.open(a) as ledger:
        ledger.register("hk-7", 7, [PYTHON])
    assert audit_states(a, b).reason.startswith("the miner hk-7 is another, or on one side alone")
