"""Rounds whose tasks several validators recorded: each counts, or since 1.2.0 their mean (E97)."""

import random
from pathlib import Path

import pytest
from examples import fast_rows
from oracle import reputation as oracle
from oracle.history import History, RuleSet
from state.agreement import assert_agrees
from state.chronicle import VALIDATORS, Epoch, history
from state.subnet import Record

from tallystick_state.ledger import Ledger


def recorded_again(epoch: Epoch, rng: random.Random) -> Epoch:
    """The epoch with records of other validators beside some, better, worse, late or missed."""
    more = list[Record]()
    for line in epoch.lines:
        others = [each for each in VALIDATORS if each != line["validator"]]
        if "event" in line or rng.random() < 0.5:
            continue
        for validator in rng.sample(others, rng.choice([1, 2])):
            again = line | {"validator": validator}
            if "submission" in line:
                latency = rng.randint(30_000, 300_000)
                again |= {"submission": line["submission"] | {"latency_ms": latency}}
                again |= {"events": rng.choice([[], ["missed_deadline"], ["probe_fail"]])}
            more.append(again)
    lines = [*epoch.lines, *more]
    rng.shuffle(lines)
    return Epoch(epoch.newcomers, lines, epoch.cleared)


@pytest.mark.parametrize("name", fast_rows(oracle.RULES, 0, 2))
@pytest.mark.parametrize("seed", fast_rows([1, 2], 0))
def test_round_scores_are_those_of_the_oracle(name: str, seed: int, tmp_path: Path) -> None:
    told, lines, rng = History(lambda _: RuleSet(name)), list[Record](), random.Random(seed)
    with Ledger.create(tmp_path / "state.db", name) as ledger:
        for plain in history(seed, epochs=3):
            epoch = recorded_again(plain, rng)
            for each in epoch.newcomers:
                ledger.register(each.hotkey, each.uid, each.types)
            ledger.import_events(epoch.lines)
            for hotkey in epoch.cleared:
                ledger.clear(hotkey)
            ledger.close_epoch()
            told.live(epoch.newcomers, epoch.lines, epoch.cleared)
            lines += epoch.lines
            assert_agrees(ledger, told, lines)
    shared = [(each["miner"]["hotkey"], each["task_id"]) for each in lines if "miner" in each]
    assert len({*shared}) < len(shared)
