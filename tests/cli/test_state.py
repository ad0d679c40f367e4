"""The commands on a state: what they say to machines and to people, and what they come to."""

import json
from pathlib import Path

import pytest
from cli.command import message_of, run
from cli.stores import PYTHON, RAG, Subnet
from state.subnet import event, record


def test_init_says_the_rule_set_and_the_epoch(tmp_path: Path) -> None:
    found = run("state", "init", "--rules", "skills@1.1.0", "--state", tmp_path / "s", "--json")
    said = found.json()
    digest = run("rules", "digest", "skills@1.1.0").out.strip()
    assert said == {"rule_set": "skills@1.1.0", "digest": digest, "epoch": 0}


def test_show_has_the_miner_whole(subnet: Subnet) -> None:
    found = subnet.do("state", "show", "hk-1", "--json")
    assert (found.status, found.err) == (0, "")
    shown = found.json()
    recent = {key: shown.pop(key) for key in ("uid", "weights", "without", "scores", "movements")}
    assert shown == {
        "hotkey": "hk-1",
        "reputation": {PYTHON: "0.500000000", RAG: "0.500000000"},
        "rank": {PYTHON: 1, RAG: 1},
        "rounds_24h": 1,
        "rounds_counted": "hours",
        "epoch": 0,
    }
    assert (recent["uid"], recent["movements"]) == (1, [])
    subnet.do("epoch", "close", "--epoch", "0")
    shown = subnet.do("state", "show", "hk-1", "--json").json()
    assert shown["reputation"] == {PYTHON: "0.452000000", RAG: "0.500000000"}
    (moved,) = shown["movements"]
    assert moved["skill_type"] == PYTHON
    assert (moved["before"], moved["after"]) == ("0.500000000", "0.452000000")
    assert (moved["records"], moved["events"]) == (1, {"consensus_pass": 1})
    (score,) = shown["scores"]
    assert (score["round"], score["skill_type"], score["task_id"]) == (0, PYTHON, "t1")
    assert score["events"] == ["consensus_pass"]
    text = subnet.do("state", "show", "hk-1").out
    assert f"{PYTHON} 0.500000000 → 0.452000000 in the last epoch, by 1 record" in text
    assert score["emission"] in text


def test_a_type_that_a_miner_never_declared_moves_too(subnet: Subnet) -> None:
    lines = subnet.lines(record("t3", "hk-2", skill_type=RAG))
    subnet.do("round", "close", lines)
    subnet.do("epoch", "close", "--epoch", "0")
    found = subnet.do("state", "show", "hk-2", "--json")
    assert (found.status, found.err) == (0, "")
    assert {moved["skill_type"] for moved in found.json()["movements"]} >= {PYTHON}


def test_the_rank_of_who_is_not_selectable_is_null(subnet: Subnet) -> None:
    flags = [event(f"e{n}", "collusion_flag", f"t{n}") for n in range(3)]
    imported = subnet.do("events", "import", subnet.lines(*flags), "--json")
    assert imported.json() == {"recorded": 3, "duplicates": 0}
    assert subnet.do("state", "show", "hk-1", "--json").json()["rank"] == {PYTHON: None, RAG: None}
    assert "not selectable" in subnet.do("state", "show", "hk-1").out
    assert subnet.do("miner", "clear", "hk-1", "--json").json() == {"hotkey": "hk-1", "cleared": 3}
    assert subnet.do("state", "show", "hk-1", "--json").json()["rank"] == {PYTHON: 1, RAG: 1}


def test_the_board_is_everyone_who_is_selectable(subnet: Subnet) -> None:
    subnet.do("epoch", "close", "--epoch", "0")
    assert subnet.do("state", "board", PYTHON, "--json").json() == {
        "skill_type": PYTHON,
        "epoch": 1,
        "board": [
            {"rank": 1, "hotkey": "hk-1", "uid": 1, "reputation": "0.452000000"},
            {"rank": 2, "hotkey": "hk-2", "uid": 2, "reputation": "0.450000000"},
        ],
    }
    assert [
        each["hotkey"] for each in subnet.do("state", "board", RAG, "--json").json()["board"]
    ] == ["hk-1"]


def test_a_group_is_two_lists_and_whether_there_is_a_consensus(subnet: Subnet) -> None:
    selected = ("groups", "select", PYTHON, "--round", "1", "--seed", "x")
    found = subnet.do(*selected, "--json").json()
    assert found == {"primaries": ["hk-1", "hk-2"], "auditors": [], "consensus": False}
    assert subnet.do(*selected).out == "primaries  hk-1, hk-2\nauditors   none\nconsensus  off\n"


def test_closing_a_round_says_scores_and_duplicates(subnet: Subnet) -> None:
    path = subnet.folder / "r0.jsonl"
    scores = {"hk-1": "2.300000000", "hk-2": "1.150000000"}
    expected = {"rounds": [{"round": 0, "epoch": 0, "scores": scores}]}
    found = subnet.do("round", "close", path, "--json")
    assert (found.status, found.err) == (0, "")
    assert found.json() == expected | {"recorded": 0, "duplicates": 2}
    assert subnet.do("round", "close", path).out.startswith(
        f"{path}: 0 recorded, 2 known already\n"
    )


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (None, 2),  # the latest recorded round, at 20:00 of the first day
        ("2026-01-02T00:00:00Z", 1),  # round 0 is 24 hours ago to the second
        ("2026-01-01T19:59:59Z", 1),  # round 1 is still to come
    ],
)
def test_the_last_24_hours(subnet: Subnet, at: str | None, expected: int) -> None:
    lines = subnet.lines(record("t3", round=1))
    subnet.do("round", "close", lines, "--at", "2026-01-01T21:00:00+01:00")
    more = ("--at", at) if at else ()
    assert subnet.do("state", "show", "hk-1", *more, "--json").json()["rounds_24h"] == expected


def test_scoring_with_a_state(subnet: Subnet) -> None:
    """A perfect record, of epochs with the seeds, with a baseline of 1, and without a snapshot."""
    subnet.do("round", "close", subnet.lines(*(record(f"p{n}", round=1) for n in range(5))))
    subnet.do("epoch", "close", "--epoch", "0")
    path = subnet.lines(*(record("s", epoch=epoch) for epoch in (0, 1, 2)), name="s.jsonl")
    output = subnet.folder / "out.jsonl"
    assert subnet.do("score", path, "--rules", "skills@1.0.0", "-o", output).status == 0
    rows = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    tiers = [row["tier"] for row in rows]
    assert tiers == ["tier_3_novel", "tier_1_reference", "tier_3_novel"]
    receipt = json.loads(Path(f"{output}.receipt.json").read_text(encoding="utf-8"))
    snapshot = subnet.do("epoch", "close", "--epoch", "0", "--json").json()["snapshot"]
    assert list(receipt["snapshots"]) == ["0", "1"]
    assert receipt["snapshots"]["1"] == snapshot
    other = subnet.do("score", path, "--rules", "skills@1.1.0", "-o", subnet.folder / "o.jsonl")
    assert "expected that of the state, skills@1.0.0" in message_of(other)
