"""Hostile populations, groups and cases of Yuma against whoever reads them.

What is accepted has to be what it says:

- the weights of a population are shares of one whole, and those of its rows in any order;
- every line of a file of groups is a consensus or a reject, and a good one stays as it is;
- a case of Yuma has an answer for each step, and no more is handed out than there is;
- validators have a stake, and each once.
"""

import csv
import io
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
from attack import hostile_files

import tallystick
from tallystick.numbers.nano import NANO
from tallystick.records.rejects import Reject
from tallystick_allocation.allocation import bound_allocation
from tallystick_allocation.files import weights_document
from tallystick_consensus.group import GroupConsensus
from tallystick_yuma.metagraph import validators_of
from tallystick_yuma.vectors import computed, read

_RULES = """
[rule_set]
name = "attacked"
version = "1.0.0"
format = 1

[axes.success]
formula = "workflow/success@2"

[skill_types.workflow]
composite = "arithmetic"
weights = { success = 1 }

[[allocation.steps]]
name = "mean"
do = "collect"
value = "quality"
as = "mean"
last = 3
empty = 0

[[allocation.steps]]
name = "best"
do = "one_per"
of = "mean"
key = "miner.coldkey"
ties = "digest"
salt = "round.salt"

[[allocation.steps]]
name = "part"
do = "share"
of = "best"
zero = "zero"
drop_zero = true

[[allocation.steps]]
name = "capped"
do = "cap"
of = "part"
share = 0.5
excess = "water_filling"
lowest_share = "one_over_miners"

[[allocation.steps]]
name = "smooth"
do = "average"
of = "capped"
new = 0.2
newcomer = "new"
leaver = "drop"

[[allocation.steps]]
name = "weight"
do = "reserve"
of = "smooth"
key = "round.key"
share = "round.share"
publish = true
"""
_ROUND = {"format": 1, "round": {"salt": "5eed", "key": "5Tre", "share": "0.18"}}
_MINERS = [
    (f"5{name}", uid, name[:1], f"0.{uid}5") for uid, name in enumerate(("Ada", "Ann", "Bo"))
]
_GROUP = {
    "skill_type": "rag_knowledge",
    "task_id": "t-1",
    "round": 7,
    "epoch": 0,
    "validator": "5V",
    "members": [
        {
            "uid": uid,
            "hotkey": hotkey,
            "role": "auditor" if uid > 1 else "primary",
            "submission": {
                "verdict": "BLOCK",
                "risk_score": 0.5 + uid / 10,
                "dependencies": ["CVE-1"],
                "findings": [
                    {"category": "a", "severity": "high", "file": "f.py", "line": 9 + uid},
                    {"category": "b", "severity": "low"},
                ],
                "capabilities": [{"kind": "tool", "value": "shell"}],
            },
        }
        for uid, (hotkey, *_) in enumerate(_MINERS)
    ],
}
_CASE = {
    "params": {"yuma3": True, "liquid_alpha": True, "kappa": 32767},
    "steps": [
        {
            "input": {
                "n": 4,
                "block": 1000,
                "emission": 10**9,
                "alpha": [600, 300, 0, 0],
                "permits": [True, True],
                "last_update": [900] * 4,
                "registered": [0] * 4,
                "weights": [[[2, 65535], [3, 65535]], [[2, 9], [3, 7]], [], []],
                "bonds": [[[2, 4000]], [], [], []],
            }
        },
        {
            "input": {
                "n": 4,
                "block": 1360,
                "emission": 10**9,
                "alpha": [600, 300, 0, 5],
                "last_update": [1300] * 4,
                "registered": [0, 0, 0, 1200],
                "last_step_block": 1000,
            }
        },
    ],
}
_METAGRAPH = {"hotkeys": ["5A", "5B"], "stake": [60.5, "40"], "validator_permit": [True, True]}


_ENDS = (".jsonl", ".csv", ".parquet")


def _spoilt(random: Random, whole: bytes) -> bytes:
    """A JSON document with other bytes, or with another value in it; seldom as it was."""
    if random.random() < 0.1:
        return whole
    if random.random() < 0.3:
        return hostile_files.of_bytes(random, whole)
    return hostile_files.other_json(random, whole.decode()).encode("utf-8", "surrogatepass")


@cache
def _rules(folder: Path) -> tallystick.Scorer:
    path = folder / "attacked.toml"
    path.write_text(_RULES)
    return tallystick.load(path)


@cache
def _table(end: str) -> bytes:
    columns = ("hotkey", "uid", "coldkey", "quality")
    rows = [dict(zip(columns, row, strict=True)) for row in _MINERS]
    if end == ".jsonl":
        return b"\n".join(json.dumps(row | {"quality": [0.5, "1/3"]}).encode() for row in rows)
    if end == ".parquet":
        buffer = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(rows), buffer)
        return buffer.getvalue()
    text = io.StringIO()
    writer = csv.DictWriter(text, columns)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def population(folder: Path, random: Random) -> str:
    """A table of miners, the file of a round, or the weights of the round before."""
    rules, end = _rules(folder), random.choice(_ENDS)
    carry = {"allocation": bound_allocation(rules).digest, "carry": {"smooth": {"5Ada": "0.25"}}}
    files = {
        folder / f"population{end}": _table(end),
        folder / "round.json": json.dumps(_ROUND).encode(),
        folder / "carry.json": json.dumps(carry).encode(),
    }
    chosen = random.choice([*files])
    table, given_round, given_carry = files
    for path, whole in files.items():
        make = hostile_files.of_bytes if path == table and end != ".jsonl" else _spoilt_line
        path.write_bytes(make(random, whole) if path == chosen else whole)
    found = tallystick.allocate(rules, table, round=given_round, carry=given_carry)
    total = sum(found.weights.values())
    assert not total or abs(total - NANO) <= len(found.weights)
    if end == ".jsonl":
        table.write_bytes(b"\n".join(reversed(table.read_bytes().split(b"\n"))))
        again = tallystick.allocate(rules, table, round=given_round, carry=given_carry)
        assert weights_document(again) == weights_document(found)
    return "weights" if total else "nobody"


def _spoilt_line(random: Random, data: bytes) -> bytes:
    """One line of JSON spoilt among all."""
    lines = data.split(b"\n")
    place = random.randrange(len(lines))
    lines[place] = _spoilt(random, lines[place])
    return b"\n".join(lines)


def groups(folder: Path, random: Random) -> str:
    """A file of groups, one of which is spoilt."""
    del folder
    good = json.dumps(_GROUP).encode()
    lines = [good, _spoilt(random, good).replace(b"\n", b" "), good]
    scorer = _skills()
    first, second, third = tallystick.consensus(lines, scorer)
    assert isinstance(first, GroupConsensus)
    assert isinstance(third, GroupConsensus)
    assert first.to_dict() == third.to_dict()
    if isinstance(second, Reject):
        return second.code
    assert second.to_dict()["members"]
    return "computed"


@cache
def _skills() -> tallystick.Scorer:
    return tallystick.load("skills@1.2.0")


def case(folder: Path, random: Random) -> str:
    """A case of Yuma."""
    path = folder / "case.json"
    path.write_bytes(_spoilt(random, json.dumps(_CASE).encode()))
    document = read(path)
    (found,) = computed(document, str(path))
    assert len(found["steps"]) == len(document["steps"])
    for given, step in zip(document["steps"], found["steps"], strict=True):
        said = given["input"]
        assert len(step["incentive"]) == len(step["bonds"]) == said["n"]
        assert 0 <= sum(step["emission"]) <= said["emission"]
    return "computed"


def metagraph(folder: Path, random: Random) -> str:
    """Who validates, of JSON or of CSV."""
    path = folder / "validators"
    whole = random.choice((json.dumps(_METAGRAPH).encode(), b"hotkey,stake\n5A,60.5\n5B,40\n"))
    path.write_bytes((_spoilt if whole[:1] == b"{" else hostile_files.of_bytes)(random, whole))
    found = validators_of(path)
    assert all(each.hotkey and each.stake > 0 for each in found)
    assert len({each.hotkey for each in found}) == len(found)
    return "read"


KINDS: dict[str, Callable[[Path, Random], str]] = {
    "population": population,
    "groups": groups,
    "case of yuma": case,
    "metagraph": metagraph,
}
