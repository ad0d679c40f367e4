"""``tallystick quarantine``, and what is told of lines that are not recorded."""

from pathlib import Path

import pytest
from cli.stores import PYTHON, Subnet
from state.subnet import event, record


@pytest.fixture
def named(tmp_path: Path) -> Subnet:
    """A state of val-own, which hears val-1 and val-2."""
    found = Subnet(tmp_path / "named.db", tmp_path)
    heard = ("--hear", "val-1", "--hear", "val-2")
    begun = found.do("state", "init", "--rules", "skills@1.2.0", "--validator", "val-own", *heard)
    assert "a state of val-own under skills@1.2.0" in begun.out
    found.do("miner", "register", "hk-1", "--uid", "1", "--types", PYTHON)
    return found


def test_a_line_that_is_not_recorded_is_told_and_the_rest_is_recorded(named: Subnet) -> None:
    disputed = [record("t1"), record("t1", consensus=0.0), record("t2")]
    found = named.do(
        "events", "import", named.lines(*disputed, record("t3", validator="liar\x1b[2J"))
    )
    assert found.status == 1
    assert found.out.endswith(
        ": 1 recorded, 0 known already, 2 in quarantine (conflict), 1 refused (unheard-validator)\n"
    )
    first, second = found.err.splitlines()
    assert 'lines.jsonl:1: conflict: task_id: found "t1", expected one thing' in first
    assert first.endswith("; the same in 1 more line: 2")
    assert "lines.jsonl:4: unheard-validator: validator: found" in second
    assert "\x1b" not in found.err
    told = named.do("events", "import", "--json", named.lines(record("t3", validator="liar")))
    assert told.status == 1
    view = told.json()
    assert (view["recorded"], view["refused"]) == (0, {"unheard-validator": 1})
    assert [(each["line"], each["code"]) for each in view["told"]] == [(1, "unheard-validator")]


def test_what_only_waits_and_what_was_forged_is_no_failure(named: Subnet) -> None:
    forged = [record("t1", validator="val-own", consensus=0.0), event("e", "rerun_fail", "t9")]
    # the state hears its own validator, so it hears who speaks in its name
    assert named.do("events", "import", named.lines(*forged)).status == 0
    found = named.do("round", "close", named.lines(record("t1", validator="val-own")))
    assert found.status == 0
    displaced = "1 displaced (recorded before, now in quarantine)"
    assert f": 1 recorded, 0 known already, {displaced}\n" in found.out
    others = named.do("round", "close", named.lines(record("t9")))
    released = "1 released (in quarantine before, now recorded)"
    assert f"{released}\nno round closed: no good record is of the state's validator" in others.out
    info = named.do("state", "info", "--json").json()
    assert (info["validator"], info["hears"], info["quarantine"]) == (
        *("val-own", ["val-1", "val-2"]),
        1,
    )
    assert "val-1, val-2" in named.do("state", "info").out


def test_who_flagged_a_miner_is_shown(named: Subnet) -> None:
    flags = [event(f"e{n}", "collusion_flag", "t1") for n in range(3)]
    named.do("events", "import", named.lines(record("t1"), *flags))
    lines = named.do("miner", "list").out.splitlines()
    assert lines[1].split() == ["slot", "hotkey", "skill", "type", "reputation"]
    (line,) = (line for line in lines if "3 flags of 1 validator" in line)
    assert line.split()[1] == "hk-1"
    (miner,) = named.do("miner", "list", "--json").json()["miners"]
    assert (miner["flags"], miner["flagged_by"]) == (3, {"val-1": 3})


def test_the_operator_sees_and_decides(named: Subnet) -> None:
    assert named.do("quarantine", "list").out.startswith("nothing waits")
    assert named.do("quarantine", "list", "--json").json()["claims"] == []
    lines = [record("t1"), record("t1", consensus=0.0), event("e", "probe_fail", "t9", round=3)]
    named.do("events", "import", named.lines(*lines))
    claims = named.do("quarantine", "list", "--json").json()["claims"]
    assert [each["reason"] for each in claims] == ["conflict", "conflict", "unknown-task"]
    one, other, late = (str(each["claim"]) for each in claims)
    shown = named.do("quarantine", "list", "--reason", "unknown-task").out
    heading, row = shown.splitlines()
    assert heading.split()[:3] == ["claim", "reason", "rank"]
    assert row.split() == [
        *(late, "unknown-task", "imported", "event", "e", "of", "hk-1,", f"{PYTHON},"),
        *("task", "t9,", "round", "3,", "epoch", "0,", "by", "val-1"),
    ]
    assert "known" not in named.do("quarantine", "list", "--round", "0").out
    refused = named.do("quarantine", "accept", one)
    assert refused.status == 2
    assert f"found that {other} says something else than {one}" in refused.err
    dropped = named.do("quarantine", "drop", other, other, "--json").json()
    assert dropped == {"dropped": [int(other)], "released": 1}
    assert named.do("quarantine", "accept", "--round", "3").out == "1 claim accepted\n"
    assert named.do("quarantine", "drop", "--validator", "val-1").out == "0 claims dropped\n"
    assert named.do("state", "verify").status == 0
