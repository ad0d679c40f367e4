"""Random histories of a subnet, epoch by epoch: who registers, what is recorded, who is cleared.

A round is pinned to the epoch that it began in, for all validators. Some of its records, and some
events about them, come only once the next epoch is open.
"""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen
from oracle.consensus import WEIGHTS
from state.subnet import Record, event, missed, record, written
from vectors.builders import finding

from tallystick_state.ledger import Ledger
from tallystick_state.store.tables import SNAPSHOTS

TYPES = ("executable_python", "mcp_server", "rag_knowledge")
VALIDATORS = ("val-1", "val-2", "val-3")
AT_ONCE = (
    *("rerun_pass", "rerun_fail", "digest_mismatch", "validity_violation", "probe_fail"),
    *("parse_failure", "early_arrival"),
)
ALONE = ("rerun_pass", "rerun_fail", "probe_fail", "collusion_flag", "parse_failure")
_CONSENSUS = (None, 0.1, 0.399999999, 0.4, 0.55, 0.699999999, 0.7, 1.0)
_ROUNDS = 2


@frozen
class Newcomer:
    """A registration."""

    hotkey: str
    uid: int
    types: tuple[str, ...]


@frozen
class Epoch:
    """What happens while one epoch is open: first registrations, then lines, then clearings."""

    newcomers: Sequence[Newcomer] = ()
    lines: Sequence[Record] = ()
    cleared: Sequence[str] = ()


@frozen
class _Telling:
    rng: random.Random
    miners: dict[str, tuple[str, ...]] = field(factory=dict)
    slots: dict[int, str] = field(factory=dict)
    delayed: list[Record] = field(factory=list)
    numbers: Iterator[int] = field(factory=lambda: iter(range(10**6)))


def history(seed: int, epochs: int = 4, *, plain: bool = False, records: int = 8) -> list[Epoch]:
    """A history with so many records a round.

    A plain one gives every consensus as a number, as a column can hold.
    """
    telling = _Telling(random.Random(seed))
    return [_epoch(telling, number, records, plain=plain) for number in range(epochs)]


def _epoch(telling: _Telling, number: int, records: int, *, plain: bool) -> Epoch:
    rng = telling.rng
    newcomers = [_newcomer(telling) for _ in range(4 if number == 0 else rng.randrange(3))]
    rounds = range(_ROUNDS * number, _ROUNDS * number + _ROUNDS)
    made = [_record(telling, each, number, plain=plain) for each in rounds for _ in range(records)]
    late = [_late(telling, made) for _ in range(rng.randrange(5))]
    lines = telling.delayed + [each for each in made + late if rng.random() < 0.8]
    telling.delayed[:] = [each for each in made + late if each not in lines]
    rng.shuffle(lines)
    cleared = rng.sample(sorted(telling.miners), 1) if rng.random() < 0.3 else []
    return Epoch(newcomers, lines, cleared)


def _newcomer(telling: _Telling) -> Newcomer:
    """Someone new, or someone known with other types; now and then on a slot that is taken."""
    rng = telling.rng
    again = telling.miners and rng.random() < 0.2
    hotkey = rng.choice(sorted(telling.miners)) if again else f"hk-{next(telling.numbers)}"
    types = tuple(rng.sample(TYPES, rng.randint(1, 3)))
    uid = rng.randrange(40)
    telling.miners[hotkey] = tuple({*telling.miners.get(hotkey, ()), *types})
    return Newcomer(hotkey, uid, types)


def _about(telling: _Telling, number: int, epoch: int) -> dict[str, Any]:
    hotkey = telling.rng.choice(sorted(telling.miners))
    return {
        "hotkey": hotkey,
        "skill_type": telling.rng.choice(sorted(telling.miners[hotkey])),
        "validator": telling.rng.choice(VALIDATORS),
        "round": number,
        "epoch": epoch,
    }


def _record(telling: _Telling, number: int, epoch: int, *, plain: bool) -> Record:
    rng, about = telling.rng, _about(telling, number, epoch)
    task_id = f"t{next(telling.numbers)}"
    if rng.random() < 0.1:
        late = _with_consensus(record(task_id, **about), rng, plain=plain)
        beside = rng.choices(AT_ONCE, k=rng.choice([0, 0, 1]))
        late["events"] = ["missed_deadline", *beside]
        return rng.choice([missed(task_id, **about), late])
    events = rng.choices(AT_ONCE, k=rng.choice([0, 0, 0, 1, 2]))
    role = rng.choice(["primary", "primary", "auditor"])
    latency = rng.choice([30_000, rng.randint(30_000, 300_000)])
    made = record(task_id, **about, role=role, latency_ms=latency, events=events)
    return _with_consensus(made, rng, plain=plain)


def _with_consensus(made: Record, rng: random.Random, *, plain: bool) -> Record:
    del made["consensus"]
    if not plain and rng.random() < 0.3:
        return made | {"consensus": {name: rng.choice([0, 0.5, 0.7, 1]) for name in WEIGHTS}}
    consensus = rng.choice(_CONSENSUS)
    return made if consensus is None else made | {"consensus": consensus}


def _late(telling: _Telling, records: Sequence[Record]) -> Record:
    """An event about one of the records, or about a task that nobody recorded."""
    rng = telling.rng
    about = rng.choice(records)
    task_id = about["task_id"] if rng.random() < 0.7 else f"t{next(telling.numbers)}"
    names = "skill_type", "validator", "round", "epoch"
    values = {name: about[name] for name in names} | {"hotkey": about["miner"]["hotkey"]}
    return event(f"e{next(telling.numbers)}", rng.choice(ALONE), task_id, **values)


def varied(told: Sequence[Epoch]) -> list[Epoch]:
    """The history with what the rule sets score differently, and rounds of two epochs.

    In every other round one validator names the epoch before.
    """
    return [evolve(each, lines=[*map(_varied, each.lines)]) for each in told]


def _varied(line: Record) -> Record:
    before = line["validator"] == "val-3" and line["round"] % 2 == 0 and line["epoch"] > 0
    line = line | {"epoch": line["epoch"] - before}
    number = int(line["task_id"][1:])
    if "submission" not in line or number % 4 == 0:
        return line
    answer = line["submission"] | {"verdict": "REVIEW" if number % 4 == 1 else "ALLOW"}
    if line["skill_type"] == "mcp_server" and number % 4 == 2:
        answer["findings"] = [finding(1, "tool_poisoning")]
    task = line["task"] | ({"expected_risk": 0.25} if number % 4 == 3 else {})
    return line | {"submission": answer, "task": task}


def register(ledger: Ledger, epoch: Epoch) -> None:
    for each in epoch.newcomers:
        ledger.register(each.hotkey, each.uid, each.types)


def clear(ledger: Ledger, epoch: Epoch) -> None:
    for hotkey in epoch.cleared:
        ledger.clear(hotkey)


def feed(ledger: Ledger, epoch: Epoch, folder: Path) -> None:
    """Everything of an epoch but its end, the lines as one file."""
    register(ledger, epoch)
    ledger.import_events(written(folder / "lines.jsonl", epoch.lines))
    clear(ledger, epoch)


def digest_of(ledger: Ledger) -> str:
    with ledger.queries() as queries:
        return queries.digest()


def snapshots_of(ledger: Ledger) -> list[str]:
    """The digests of the snapshots of every epoch that has begun."""
    with ledger.store.reading() as transaction:
        return [digest for _, digest, _ in transaction.rows(SNAPSHOTS)]
