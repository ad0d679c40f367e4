"""Made-up histories of a small subnet, their back-tests, and the weights of a ledger fed them."""

import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cli.command import run
from pyarrow import parquet
from state.subnet import TYPES, missed, record

from tallystick.numbers.nano import from_decimal
from tallystick.plugins.registry import installed
from tallystick_governance.backtest import report
from tallystick_governance.backtest.candidates import Switch, candidates_of, parse_sweep
from tallystick_governance.backtest.incentive import Network
from tallystick_governance.backtest.outcome import Outcome
from tallystick_governance.backtest.run import backtest
from tallystick_state.answers import ClosedRound
from tallystick_state.ledger import Ledger
from tallystick_yuma.inputs import YumaParameters
from tallystick_yuma.metagraph import Validator

NASTY = "<img src=x onerror=alert(1)>\"'&</script>"
COMMAND = "tallystick backtest 'a & b.jsonl' --rules skills@1.0.0 -o DIR"
MINERS = tuple(f"hk-{number}" for number in range(9))
NAMES = ("rerun_pass", "rerun_fail", "probe_fail", "collusion_flag", "parse_failure")
EPOCHS = (0, 1, 2, 4)
Records = list[dict[str, Any]]
Weights = dict[str, int]
States = tuple[dict[str, dict[str, int]], dict[str, dict[str, int]]]
"""Thresholds by skill type, and reputations by miner."""


def made(seed: int) -> Records:
    """Records of some epochs: late and missed ones, auditors, tasks that several record."""
    rng, found = random.Random(seed), list[dict[str, Any]]()
    for epoch in EPOCHS:
        present = MINERS if epoch else MINERS[:-2]
        for task in range(50):
            about: dict[str, Any] = {
                "hotkey": rng.choice(present),
                "skill_type": rng.choice(TYPES[:3]),
                "round": epoch * 3 + rng.randrange(3),
                "epoch": epoch,
            }
            for validator in rng.sample(["val-1", "val-2"], rng.choice([1, 1, 2])):
                found.append(one(rng, f"t{epoch}-{task}", {**about, "validator": validator}))
    for line in found:
        line["miner"]["uid"] = MINERS.index(line["miner"]["hotkey"])
    return found


def few_epochs(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield made-up records in three epochs, as each epoch more takes time to be replayed."""
    for line in lines:
        whole = json.loads(line)
        whole["epoch"] %= 3
        yield json.dumps(whole).encode() + b"\n"


def one(rng: random.Random, task: str, about: dict[str, Any]) -> dict[str, Any]:
    if rng.random() < 0.1:
        late = record(task, **about, consensus=0.9, events=["missed_deadline"])
        return rng.choice([missed(task, **about), late])
    return record(
        task,
        **about,
        role=rng.choice(["primary", "auditor"]),
        latency_ms=rng.randint(30_000, 200_000),
        consensus=rng.choice([None, 0.1, 0.5, 0.9]),
        events=rng.choices(NAMES, k=rng.choice([0, 0, 1, 2])),
    )


def network(*stakes: int) -> Network:
    """Validators with some stakes, in a subnet of today."""
    validators = tuple(Validator(f"{n}{NASTY}", stake) for n, stake in enumerate(stakes))
    return Network(validators, 0, YumaParameters(yuma3=True))


def backtested(
    folder: Path,
    records: Records,
    *references: str,
    sweeps: Sequence[str] = (),
    **options: Any,  # noqa: ANN401  # of `backtest`
) -> tuple[Outcome, report.Written]:
    """Back-test records into the folder ``out`` of another, without pictures."""
    candidates = candidates_of(references, [parse_sweep(text) for text in sweeps], installed())
    path = written(folder / "history.jsonl", records)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "plots", lambda: None)
        return backtest(path, candidates, folder / "out", command=COMMAND, **options)


def among(miners: int) -> Records:
    """Made-up records of so many miners; the first has a hostile name."""
    records = made(1)
    for number, line in enumerate(records):
        uid = number % miners
        hotkey = f"5{sha256(b'%d' % uid).hexdigest()[:47]}" if uid else NASTY
        line["miner"] = {"uid": uid, "hotkey": hotkey}
    return records


def written(path: Path, records: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    return path


def grouped(seed: int) -> tuple[Records, Records]:
    """Records and the groups that they are of; two primaries always agree, and with no auditor."""
    rng = random.Random(seed)
    records, groups = list[dict[str, Any]](), list[dict[str, Any]]()
    for epoch in EPOCHS:
        for task in range(16):
            about: dict[str, Any] = {
                "skill_type": rng.choice(TYPES[:2]),
                "round": epoch * 3 + task % 3,
                "epoch": epoch,
                "validator": rng.choice(["val-1", "val-2"]),
            }
            others = rng.sample(range(2, len(MINERS)), rng.choice([1, 3, 4]))
            members = [
                _member(rng, uid, about, f"g{epoch}-{task}", "primary" if uid < 4 else "auditor")
                for uid in (0, 1, *others)
            ]
            groups.append(
                {**about, "task_id": f"g{epoch}-{task}", "members": [m for m, _ in members]}
            )
            records += [line for _, line in members]
    return records, groups


def _member(
    rng: random.Random, uid: int, about: dict[str, Any], task: str, role: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A member of a group, and its record."""
    liar = uid < 2
    line = record(task, MINERS[uid], **about, role=role, consensus=None)
    line["miner"]["uid"] = uid
    line["submission"] |= {
        "verdict": "BLOCK" if liar else rng.choice(["ALLOW", "ALLOW", "REVIEW"]),
        "risk_score": 0.9 if liar else rng.choice([0.1, 0.2, 0.5]),
        "recommended_policy": [
            {"resource": "tool", "action": "call", "pattern": pattern}
            for pattern in rng.sample("xyz", rng.randrange(3))
        ],
    }
    member = {"uid": uid, "hotkey": MINERS[uid], "role": role}
    if rng.random() < 0.1:
        gone = missed(task, MINERS[uid], **about, role=role)
        gone["miner"]["uid"] = uid
        return member, gone
    same = ("verdict", "risk_score", "recommended_policy")
    lines = [3, 40] if liar else rng.choices([7, 9, 12, 14, 60], k=rng.randrange(4))
    finding = {"category": "lie" if liar else "leak", "severity": "low", "file": "a.py"}
    submission = {name: line["submission"][name] for name in same} | {
        "findings": [{**finding, "line": number} for number in lines],
        "capabilities": [{"kind": "tool", "value": v} for v in rng.sample("xyz", rng.randrange(3))],
    }
    return {**member, "submission": submission}, line


def register(ledger: Ledger, records: Records) -> None:
    """Give the miners of records their slots."""
    for uid, hotkey in enumerate(MINERS):
        types = {each["skill_type"] for each in records if each["miner"]["hotkey"] == hotkey}
        if types:
            ledger.register(hotkey, uid, types)


def close_epoch(
    ledger: Ledger, folder: Path, records: Records, epoch: int, groups: Records | None = None
) -> Sequence[ClosedRound]:
    """Close an epoch with its records, and return the rounds of them."""
    rounds: Sequence[ClosedRound] = ()
    own = [each for each in records if each["epoch"] == epoch]
    if own:
        path = written(folder / "epoch.jsonl", own)
        rounds, _ = ledger.close_round(
            path, groups=groups and [group for group in groups if group["epoch"] == epoch]
        )
    ledger.close_epoch()
    return rounds


def by_hand(  # noqa: PLR0913  # of the life of a ledger
    folder: Path,
    reference: str,
    records: Records,
    groups: Records | None = None,
    *,
    switches: Sequence[Switch] = (),
    states: dict[int, States] | None = None,
) -> dict[int, Weights]:
    """The weights of a ledger that is fed the records, as each epoch ends.

    Args:
        folder: of the ledger.
        reference: its first rules.
        records: of all epochs.
        groups: of the records.
        switches: rules that it adopts.
        states: takes thresholds and reputations as each epoch begins, and those after the last.
    """
    folder.mkdir(parents=True)
    found = {}
    with Ledger.create(str(folder / "state.db"), reference) as ledger:
        register(ledger, records)
        for switch in switches:
            ledger.adopt(switch.reference, switch.epoch)
        for epoch in range(max(EPOCHS) + 2):
            with ledger.queries() as queries:
                if states is not None:
                    live = queries.state.miners.items()
                    reputations = {hotkey: dict(miner.reputation) for hotkey, miner in live}
                    states[epoch] = deepcopy(dict(queries.state.thresholds)), reputations
            rounds = close_epoch(ledger, folder, records, epoch, groups)
            with ledger.queries() as queries:
                if rounds:
                    line = queries.line_weights(queries.named_line(None))
                    found[epoch] = {key: nano for key, nano in line.weights.items() if nano}
    return found


def check_states(folder: Path, candidate: str, states: Mapping[int, States]) -> None:
    """Hold the tables of a replay to the states of a ledger as each epoch of records begins."""
    tables = (
        ("thresholds", "skill_type", "threshold", "value"),
        ("reputations", "miner_hotkey", "skill_type", "reputation"),
    )
    for side, (name, owner, key, value) in enumerate(tables):
        found: dict[int, Any] = {epoch: {} for epoch in (*EPOCHS, max(EPOCHS) + 1)}
        for row in parquet.read_table(folder / f"{name}.parquet").to_pylist():
            if row["candidate"] == candidate:
                own = found[row["epoch"]].setdefault(row[owner], {})
                own[row[key]] = from_decimal(row[value])
        assert found == {epoch: states[epoch][side] for epoch in found}


def told(words: Sequence[str], status: int = 0) -> str:
    """Return the output of a command that ends with a status."""
    found = run(*words)
    assert found.status == status, found.out + found.err
    return found.out + found.err


def weights_of(folder: Path, candidate: str) -> dict[int, dict[str, int]]:
    """The weights of a candidate that are not 0, by epoch."""
    found: dict[int, dict[str, int]] = {}
    for row in parquet.read_table(folder / "weights.parquet").to_pylist():
        own = found.setdefault(row["epoch"], {})
        nano = from_decimal(row["weight"])
        if nano and row["candidate"] == candidate:
            own[row["miner_hotkey"]] = nano
    return found
