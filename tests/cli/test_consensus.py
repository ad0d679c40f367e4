"""``tallystick consensus``: lines of groups, records with their consensus, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cli.command import Finished, run
from consensus.vectors import RULE_SETS, cases
from state.store.test_round_groups import of_round
from state.subnet import written

Json = dict[str, Any]


def lines(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def consensus(folder: Path, *more: str | Path, rules: str = "skills@1.1.0") -> Finished:
    """Run the command on the groups of a folder."""
    groups, output = folder / "groups.jsonl", folder / "out.jsonl"
    return run("consensus", groups, "--rules", rules, "-o", output, *more)


def test_every_case_is_a_line_as_it_is_expected(tmp_path: Path) -> None:
    version = [*RULE_SETS][-1]
    groups = [case["group"] for case in cases("consensus")]
    written(tmp_path / "groups.jsonl", groups)
    more = ("--reruns", tmp_path / "reruns.jsonl")
    found = consensus(tmp_path, *more, rules=RULE_SETS[version][0])
    assert (found.status, found.err) == (0, "")
    told, reruns = lines(tmp_path / "out.jsonl"), iter(lines(tmp_path / "reruns.jsonl"))
    for case, group, line in zip(cases("consensus"), groups, told, strict=True):
        assert list(line) == ["task_id", "round", "validator", "skill_type", "members"]
        assert {key: line[key] for key in [*line][:4]} == {key: group[key] for key in [*line][:4]}
        expected = case["expected"][version]
        members = {member["hotkey"]: member for member in line["members"]}
        if expected is None:
            assert {member["components"] for member in line["members"]} == {None}
            continue
        for wanted in expected["members"]:
            member = members[wanted["hotkey"]]
            assert member == {key: wanted[key] for key in member}
        request = next(reruns)
        assert request["hotkeys"] == expected["rerun"]
        assert request["breakdown"] == expected["breakdown"]
    assert (tmp_path / "out.jsonl.rejects.jsonl").read_bytes() == b""


def test_records_get_the_consensus_that_scoring_then_reads(tmp_path: Path) -> None:
    records, group = of_round(0)
    alone = json.loads(json.dumps(records[0] | {"task_id": "without a group"}))
    written(tmp_path / "records.jsonl", [*records, alone])
    written(tmp_path / "groups.jsonl", [group])
    found = consensus(tmp_path, "--records", tmp_path / "records.jsonl", "--json")
    assert found.status == 0
    assert (found.json()["records"], found.json()["filled"]) == (6, 5)
    filled = tmp_path / "out.jsonl.records.jsonl"
    scored = tmp_path / "scored.jsonl"
    assert run("score", filled, "--rules", "skills@1.1.0", "-o", scored).status == 0
    (line,) = lines(tmp_path / "out.jsonl")
    assert [row["consensus"] for row in lines(scored)[:5]] == [
        member["consensus"] for member in line["members"]
    ]
    assert "consensus" not in lines(filled)[5]


def test_records_that_contradict_their_group_are_rejected_and_the_others_filled(
    tmp_path: Path,
) -> None:
    records, group = of_round(0)
    records[0]["submission"] |= {"risk_score": 0.123}
    records[1]["consensus"] = 0.5
    records[2]["submission"] |= {"recommended_policy": []}
    written(tmp_path / "records.jsonl", records)
    group["members"][2]["submission"]["recommended_policy"] = [
        {"resource": "tool", "action": "call", "pattern": "x"}
    ]
    written(tmp_path / "groups.jsonl", [group])
    filled = tmp_path / "filled.jsonl"
    more = ("--records", tmp_path / "records.jsonl", "--records-output", filled)
    found = consensus(tmp_path, *more)
    assert found.status == 1
    assert "5 records, 2 with a consensus, 3 rejected" in found.out
    rejects = lines(tmp_path / "filled.jsonl.rejects.jsonl")
    assert [(each["line"], each["code"], each["path"]) for each in rejects] == [
        (1, "group-mismatch", "submission.risk_score"),
        (2, "consensus-twice", "consensus"),
        (3, "group-mismatch", "submission.recommended_policy"),
    ]
    assert len(lines(filled)) == 2


def test_a_bad_line_is_rejected_and_the_others_are_done(tmp_path: Path) -> None:
    group = cases("consensus")[0]["group"]
    twice = group | {"members": [*group["members"], group["members"][0]]}
    written(tmp_path / "groups.jsonl", [twice, group])
    long = b'{"task_id": "' + b"x" * (4 << 20) + b'"}\n'
    with (tmp_path / "groups.jsonl").open("ab") as file:
        file.write(long + b"\n[]\n")
    assert consensus(tmp_path).status == 1
    assert len(lines(tmp_path / "out.jsonl")) == 1
    rejects = lines(tmp_path / "out.jsonl.rejects.jsonl")
    assert [(each["line"], each["code"]) for each in rejects] == [
        (1, "duplicate-member"),
        (3, "line-too-long"),
        (4, "empty-line"),
        (5, "not-an-object"),
    ]
