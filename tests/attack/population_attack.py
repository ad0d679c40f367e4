"""Hostile populations and groups against whoever reads them.

What is accepted has to be what it says:

- the weights of a population are shares of one whole, and those of its rows in any order;
- every line of a file of groups is a consensus or a reject, and a good one stays as it is;
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
from allocation.subnets import rules_from
from allocation.tables import rules_with
from attack import hostile_files
from attack.hostile_lines import of_bytes
from consensus.vectors import cases, scorer_of

import tallystick
from tallystick.numbers.nano import NANO
from tallystick.records.rejects import Reject
from tallystick_allocation.allocation import bound_allocation
from tallystick_allocation.files import weights_document
from tallystick_consensus.group import GroupConsensus
from tallystick_yuma.metagraph import validators_of

_BY_OWNER = 'key = "miner.coldkey", ties = "digest", salt = "round.salt"'
_WATER = 'excess = "water_filling", lowest_share = "one_over_miners"'
_STEPS = (
    f'{{ name = "best", do = "one_per", of = "x", {_BY_OWNER} }}',
    '{ name = "part", do = "share", of = "best", zero = "zero", drop_zero = true }',
    f'{{ name = "capped", do = "cap", of = "part", share = 0.5, {_WATER} }}',
    '{ name = "smooth", do = "average", of = "capped", new = 0.2, newcomer = 0, leaver = "drop" }',
    '{ name = "kept", do = "reserve", of = "smooth", key = "round.key", share = "round.share" }',
)
_ROUND = {"format": 1, "round": {"salt": "5eed", "key": "5Tre", "share": "0.18"}}
_MINERS = [
    (f"5{name}", uid, name[:1], f"0.{uid}5") for uid, name in enumerate(("Ada", "Ann", "Bo"))
]
_METAGRAPH = {"hotkeys": ["5A", "5B"], "stake": [60.5, "40"], "validator_permit": [True, True]}


_ENDS = (".jsonl", ".csv", ".parquet")


def _spoilt(random: Random, whole: bytes) -> bytes:
    """A JSON document with other bytes, or with another value in it; seldom as it was."""
    if random.random() < 0.1:
        return whole
    if random.random() < 0.3:
        return of_bytes(random, whole)
    return hostile_files.other_json(random, whole.decode()).encode("utf-8", "surrogatepass")


@cache
def _table(end: str) -> bytes:
    columns = ("hotkey", "uid", "coldkey", "x")
    rows = [dict(zip(columns, row, strict=True)) for row in _MINERS]
    if end == ".jsonl":
        return b"\n".join(json.dumps(row | {"x": "1/3"}).encode() for row in rows)
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
    rules, end = rules_from(rules_with(*_STEPS)), random.choice(_ENDS)
    carry = {"allocation": bound_allocation(rules).digest, "carry": {"smooth": {"5Ada": "0.25"}}}
    files = {
        folder / f"population{end}": _table(end),
        folder / "round.json": json.dumps(_ROUND).encode(),
        folder / "carry.json": json.dumps(carry).encode(),
    }
    chosen = random.choice([*files])
    table, given_round, given_carry = files
    for path, whole in files.items():
        make = of_bytes if path == table and end != ".jsonl" else _spoilt_line
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
    good = json.dumps(cases("consensus")[0]["group"]).encode()
    lines = [good, _spoilt(random, good).replace(b"\n", b" "), good]
    first, second, third = tallystick.consensus(lines, scorer_of("skills@1.2.0"))
    assert isinstance(first, GroupConsensus)
    assert isinstance(third, GroupConsensus)
    assert first.to_dict() == third.to_dict()
    if isinstance(second, Reject):
        return second.code
    assert second.to_dict()["members"]
    return "computed"


def metagraph(folder: Path, random: Random) -> str:
    """Who validates, of JSON or of CSV."""
    path = folder / "validators"
    whole = random.choice((json.dumps(_METAGRAPH).encode(), b"hotkey,stake\n5A,60.5\n5B,40\n"))
    path.write_bytes((_spoilt if whole[:1] == b"{" else of_bytes)(random, whole))
    found = validators_of(path)
    assert all(each.hotkey and each.stake > 0 for each in found)
    assert len({each.hotkey for each in found}) == len(found)
    return "read"


KINDS: dict[str, Callable[[Path, Random], str]] = {
    "population": population,
    "groups": groups,
    "metagraph": metagraph,
}
