"""Closing a round or an epoch says what it did."""

from pathlib import Path

import pytest
from cli.command import run
from state import subnet
from state.subnet import event, hotkeys, missed, record, written

from tallystick_state.ledger import Ledger

ON = ("--state", "state.db")


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    subnet.begun("state.db", "skills@1.1.0", hotkeys(5)).close()
    return tmp_path


def test_an_epoch_says_what_it_counted_and_moved(begun: Path) -> None:
    lines = [record(f"t{uid}", f"hk-{uid}") for uid in range(3)]
    lines += [missed("t3", "hk-3"), record("t4", "hk-4", consensus=0.1, events=["probe_fail"])]
    lines += [event("e1", "rerun_pass", "t0", "hk-0")]
    lines += [event("f1", "collusion_flag", "t1", "hk-1"), record("t0", "hk-0", consensus=0.3)]
    path = written(begun / "lines.jsonl", lines)
    imported = run("events", "import", path, *ON)
    assert "2 in quarantine (conflict)" in imported.out
    with Ledger.open("state.db") as ledger:
        ledger.adopt("skills@1.2.0", 1)
    head, *rest = run("epoch", "close", "--epoch", "0", *ON).out.splitlines()
    assert head.startswith("epoch 0 is closed; snapshot sha256:")
    assert rest[:2] == [
        "  counted: 4 records of 4 miners, 1 missed or late, and 2 events that came alone",
        "  reputations: 2 up, 2 down, 1 as before",
    ]
    assert rest[2] == "    0.500000000 → 0.482000000  executable_python  hk-1"
    assert rest[3].endswith("executable_python  hk-4")
    assert rest[6:] == [
        "  thresholds: 1 moved",
        "    0.750000000 → 0.825000000  executable_python, novel",
        "  collusion flags: hk-1 (1)",
        "  in quarantine, not counted: 2 conflict; see tallystick quarantine list",
        "  rules of skills from epoch 1 on: skills@1.2.0",
        "epoch 1 is open",
    ]
    again = run("epoch", "close", "--epoch", "0", *ON).out
    assert again == head.replace("is closed", "was closed already") + "\n"


def test_an_epoch_without_anything_says_so(begun: Path) -> None:
    del begun
    assert run("epoch", "close", "--epoch", "0", *ON).out.splitlines()[1:] == [
        "  counted: 0 records of 0 miners",
        "  reputations: 0 up, 0 down, 5 as before",
        "  thresholds: none moved",
        "epoch 1 is open",
    ]


def test_only_the_largest_moves_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with subnet.begun("state.db", "skills@1.1.0", hotkeys(14)) as ledger:
        ledger.import_events([record(f"t{uid}", f"hk-{uid}") for uid in range(14)])
    lines = run("epoch", "close", "--epoch", "0", *ON).out.splitlines()
    assert sum("→" in line and "hk-" in line for line in lines) == 10
    assert "    and 4 smaller moves" in lines


def test_a_round_says_what_it_has(begun: Path) -> None:
    lines = [record("t1", "hk-1", round=3), missed("t2", "hk-2", round=3)]
    told = run("round", "close", written(begun / "round.jsonl", lines), *ON).out.splitlines()
    assert told[0].endswith("round.jsonl: 2 recorded, 0 known already")
    assert (
        told[1] == "round 3, pinned to epoch 0, is closed: 2 records of 2 miners, 1 missed or late"
    )
