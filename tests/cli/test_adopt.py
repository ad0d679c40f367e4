"""Adopting, withdrawing and showing rules, by command."""

from pathlib import Path

import pytest
from cli.command import run
from state.signing import ALICE, BOB
from state.trusted import begun, signed_adoption

OLD = "sha256:0edcdf7f65963f284e5db559e9e617eaa85a9049e01798a1e8562a4a24d0f0dd"
NEW = "sha256:74dc6e28c5ee15fd9c453dd69e5326eaa32e6279562012b38ce12d161ebb6580"


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TALLYSTICK_STATE", "state.db")
    assert run("state", "init", "--rules", "skills@1.0.0").status == 0
    return "state.db"


def test_an_adoption_is_told_with_its_block(where: str) -> None:
    found = run("state", "adopt", "skills@1.1.0", "--at-epoch", "20", "--state", where)
    told = f"skills@1.1.0 {NEW} holds from epoch 20, block 2000, if nobody withdraws it\n"
    assert (found.status, found.out, found.err) == (0, told, "")


def test_an_adoption_and_its_withdrawal_as_json(where: str) -> None:
    adopted = run("state", "adopt", "skills@1.1.0", "--at-epoch", "2", "--state", where, "--json")
    assert adopted.json() == {
        "line": "skills",
        "epoch": 2,
        "block": 200,
        "reference": "skills@1.1.0",
        "digest": NEW,
        "previous": OLD,
        "sequence": 1,
        "major": False,
        "statement": None,
        "signed_by": [],
    }
    withdrawn = run("state", "withdraw", "--line", "skills", "--json")
    assert withdrawn.json() == adopted.json()
    again = run("state", "withdraw", "--json")
    assert (again.status, again.json()["code"]) == (2, "not-scheduled")


@pytest.mark.usefixtures("where")
def test_rules_are_shown_with_what_held_holds_and_will_hold() -> None:
    run("state", "adopt", "skills@1.1.0", "--at-epoch", "1")
    run("state", "adopt", "skills@1.2.0", "--at-epoch", "3")
    run("epoch", "close", "--epoch", "0")
    lines = run("state", "rules").out.splitlines()
    assert [each[:60].rsplit(" sha", 1)[0] for each in lines] == [
        "held       from epoch 0 to 0, block 0  skills@1.0.0",
        "holds      from epoch 1 to 2, block 100  skills@1.1.0",
        "will hold  from epoch 3, block 300  skills@1.2.0",
    ]
    found = run("state", "rules", "--json").json()
    (line,) = found["lines"]
    assert (found["epoch"], line["line"]) == (1, "skills")
    assert line["rules"][1] == {
        "status": "holds",
        "epoch": 1,
        "until": 2,
        "block": 100,
        "reference": "skills@1.1.0",
        "digest": NEW,
        "sequence": 1,
        "statement": None,
        "signed_by": [],
    }


@pytest.mark.usefixtures("where")
def test_a_major_change_is_meant() -> None:
    run("state", "adopt", "skills@1.1.0", "--at-epoch", "1")
    back = ("state", "adopt", "skills@1.0.0", "--at-epoch", "2", "--json")
    found = run(*back)
    assert found.json()["code"] == "major-change"
    assert "say --major if that is meant" in found.err
    assert run(*back, "--major").json()["major"] is True


@pytest.mark.usefixtures("where")
def test_events_that_are_left_out_are_told() -> None:
    run("miner", "register", "hk-1", "--uid", "1", "--types", "executable_python")
    run("state", "adopt", "skills@1.1.0", "--at-epoch", "1")
    run("state", "adopt", "skills@1.0.0", "--at-epoch", "2", "--major")
    run("epoch", "close", "--epoch", "0")
    run("epoch", "close", "--epoch", "1")
    late = Path("late.jsonl")
    late.write_text(
        '{"id": "e1", "validator": "v", "hotkey": "hk-1", "skill_type": "executable_python", '
        '"task_id": "t", "round": 0, "epoch": 1, "event": "parse_failure"}\n'
    )
    found = run("events", "import", late)
    assert (found.status, found.out) == (
        0,
        "late.jsonl: 1 recorded, 0 known already, 1 without effect (parse_failure)\n",
    )
    assert "late.jsonl:1: event-left-out: events: found" in found.err


def test_who_signed_is_told(tmp_path: Path) -> None:
    where, signed = tmp_path / "signed.db", tmp_path / "signed.json"
    begun(where, tmp_path)
    signed.write_bytes(signed_adoption(BOB, ALICE))
    step = ("state", "adopt", "skills@1.1.0", "--at-epoch", "3", "--state", where)
    refused = run(*step, "--json")
    assert (refused.status, refused.json()["code"]) == (1, "unsigned")
    assert run(*step, "--signed", signed, "--json").json()["signed_by"] == ["alice", "bob"]
    assert run("state", "rules", "--state", where).out.endswith(f"{NEW}, signed by alice, bob\n")


# ------------------------------------------------------------------------------------------- pools

LINES = ("--rules", "skills@1.1.0", "--rules", "workflow@1.1.0")
POOLS = ("--pool", "skills=0.7", "--pool", "workflow=0.3")


@pytest.fixture
def shared(where: str) -> str:
    assert run("state", "init", *LINES, *POOLS, "--state", f"shared-{where}").status == 0
    return f"shared-{where}"


def test_pools_are_adopted_and_shown(shared: str) -> None:
    even = ("--pool", "workflow=0.5", "--pool", "skills=0.50", "--idle", "burn:7")
    found = run("state", "adopt", *even, "--at-epoch", "1", "--state", shared)
    told = "pools skills 0.5, workflow 0.5; of idle lines burnt by uid:7"
    before = "pools skills 0.7, workflow 0.3; of idle lines proportional to the others"
    assert found.out == f"from epoch 1: {told}, unless others replace it\n"
    run("epoch", "close", "--epoch", "0", "--state", shared)
    lines = run("state", "rules", "--state", shared).out.splitlines()
    assert lines[:2] == [
        f"held       from epoch 0 to 0  {before}",
        f"holds      from epoch 1  {told}",
    ]
    assert f"pools              {told[6:]}" in run("state", "info", "--state", shared).out
    view = run("state", "rules", "--json", "--state", shared).json()
    assert [each["shares"]["skills"] for each in view["pools"]] == ["0.7", "0.5"]
    again = run("state", "adopt", *POOLS, "--at-epoch", "3", "--json", "--state", shared).json()
    assert (again["sequence"], again["epoch"], again["previous"]) == (
        *(2, 3),
        view["pools"][1]["digest"],
    )
