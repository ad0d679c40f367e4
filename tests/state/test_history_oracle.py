"""Whole histories, as a ledger is fed them, end every epoch as the oracle says."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from attrs import field, frozen
from oracle import reputation as oracle
from oracle import rows
from oracle.composites import is_corrected
from oracle.consensus import band, combine
from oracle.decimals import published
from oracle.emissions import BASE_WEIGHTS, emission
from oracle.tiers import BASELINES, MULTIPLIERS, thresholds
from state.chronicle import Epoch, clear, history, register
from state.subnet import Record, written

from tallystick.state.ledger import Ledger
from tallystick.state.model import State
from tallystick.state.queries import StateQueries

NANO = 10**9
SEEDS = range(4)
TERMS = ("early_bonus", "role_multiplier", "consensus", "bootstrap_bonus")
Scores = dict[int, dict[str, Fraction]]


@frozen
class Oracle:
    """What a state is, in fractions: rebuilt here from the lines alone."""

    name: str
    reputations: dict[tuple[str, str], Fraction] = field(factory=dict)
    levels: dict[str, tuple[Fraction, Fraction]] = field(factory=dict)
    flags: dict[str, int] = field(factory=lambda: defaultdict(int))
    pinned: dict[int, tuple[Mapping[Any, Fraction], Mapping[str, Any]]] = field(factory=dict)
    waiting: list[tuple[int, Record]] = field(factory=list)
    tasks: set[tuple[Any, ...]] = field(factory=set)
    cleared: dict[str, int] = field(factory=dict)

    @classmethod
    def begun(cls, name: str) -> "Oracle":
        found = cls(name)
        for skill_type in BASELINES:
            baseline, _, novel = thresholds(skill_type, name)
            found.levels[skill_type] = baseline, novel
        return found.pin(0)

    def pin(self, epoch: int) -> "Oracle":
        self.pinned[epoch] = dict(self.reputations), dict(self.levels)
        return self

    def live(self, number: int, epoch: Epoch) -> None:
        """One epoch, and the start of the next."""
        for each in epoch.newcomers:
            for skill_type in each.types:
                self.reputations.setdefault((each.hotkey, skill_type), Fraction("0.5"))
        reports = []
        for came, line in self.arrived(number, epoch.lines):
            each = self.report(line)
            reports.append(each)
            # what was there before a clearing was cleared, also while it waited
            if came > self.cleared.get(each.hotkey, -1):
                self.flags[each.hotkey] += each.events.count("collusion_flag")
        for hotkey in epoch.cleared:
            self.flags[hotkey] = 0
            self.cleared[hotkey] = number
        rules = oracle.RULES[self.name]
        bases = {each: reputations for each, (reputations, _) in self.pinned.items()}
        self.reputations.update(oracle.reputations(self.reputations, reports, bases, rules))
        self.levels.update(oracle.levels(self.levels, reports, rules))
        self.pin(number + 1)

    def arrived(self, number: int, lines: Iterable[Record]) -> list[tuple[int, Record]]:
        """The lines that count now, and when each came: since 1.2.0 events wait for their task."""
        present = [*self.waiting, *((number, line) for line in lines)]
        names = "validator", "hotkey", "skill_type", "task_id", "round", "epoch"
        flat = [(came, line, line | line.get("miner", {})) for came, line in present]
        self.tasks.update(tuple(map(e.get, names)) for _, line, e in flat if "event" not in line)
        waits = [
            self.name == "skills@1.2.0"
            and "event" in line
            and tuple(map(each.get, names)) not in self.tasks
            for _, line, each in flat
        ]
        self.waiting[:] = [each for each, wait in zip(present, waits, strict=True) if wait]
        return [each for each, wait in zip(present, waits, strict=True) if not wait]

    def report(self, line: Record) -> oracle.Report:
        if "event" in line:
            names = "validator", "hotkey", "skill_type", "task_id", "round", "epoch"
            return oracle.Report(*(line[name] for name in names), (line["event"],))
        events = tuple(line["events"])
        # E29: nothing came in time that a group could have agreed on
        if "consensus" in line and "missed_deadline" not in events:
            events += (f"consensus_{band(combine(line['consensus']))}",)
        about = line["validator"], line["miner"]["hotkey"], line["skill_type"], line["task_id"]
        quality = rows.score(line, self.name)["quality"] if "submission" in line else None
        quality = None if quality is None else Fraction(quality)
        return oracle.Report(*about, line["round"], line["epoch"], events, line["role"], quality)

    def round_scores(self, lines: Iterable[Record]) -> Scores:
        """reputation.txt, "How Reputation Drives Round Aggregation"; E36 to E38."""
        sums: dict[tuple[int, str], list[Fraction]] = defaultdict(lambda: [Fraction(0)] * 2)
        for line in lines:
            if "event" in line:
                continue
            above, below = self._terms(line)
            of_miner = sums[line["round"], line["miner"]["hotkey"]]
            of_miner[0] += above
            of_miner[1] += below
        found: Scores = defaultdict(dict)
        for (number, hotkey), (above, below) in sums.items():
            found[number][hotkey] = published(above / below) if below else Fraction(0)
        return dict(found)

    def _terms(self, line: Record) -> tuple[Fraction, Fraction]:
        skill_type, corrected = line["skill_type"], is_corrected(self.name)
        missed = "missed_deadline" in line["events"]
        if missed and not corrected:
            return Fraction(0), Fraction(0)
        owner = line["miner"]["hotkey"], skill_type
        reputation = self.pinned[line["epoch"]][0].get(owner, Fraction("0.5"))
        earned = Fraction(0) if missed else self.emission(line)
        base = BASE_WEIGHTS[skill_type]
        if corrected:
            return earned * reputation, base
        return earned * base * reputation, base * reputation

    def emission(self, line: Record) -> Fraction:
        """At the thresholds of the pinned epoch."""
        row, skill_type = rows.score(line, self.name), line["skill_type"]
        baseline, novel = self.pinned[line["epoch"]][1][skill_type]
        optimised = published(Fraction("1.15") * baseline)
        if is_corrected(self.name):
            optimised = published(min(optimised, baseline + Fraction("0.15") * (1 - baseline)))
        reached = [level <= Fraction(row["quality"]) for level in (baseline, optimised, novel)]
        multipliers = [
            m for m, ok in zip(list(MULTIPLIERS.values())[1:], reached, strict=True) if ok
        ]
        factors = {name: Fraction(row[name] or 1) for name in TERMS}
        factors |= {"base": BASE_WEIGHTS[skill_type], "tier": max([Fraction("0.5"), *multipliers])}
        return emission(row["quality"], factors)


def fractions_of(state: State) -> dict[tuple[str, str], Fraction]:
    miners = state.miners.items()
    owned = [(hotkey, *each) for hotkey, miner in miners for each in miner.reputation.items()]
    return {(hotkey, name): Fraction(nano, NANO) for hotkey, name, nano in owned}


def levels_of(state: State) -> dict[str, tuple[Fraction, Fraction]]:
    both = {name: (each["baseline"], each["novel"]) for name, each in state.thresholds.items()}
    return {name: (Fraction(b, NANO), Fraction(n, NANO)) for name, (b, n) in both.items()}


def scores_of(queries: StateQueries, rounds: Iterable[int]) -> Scores:
    found = {number: queries.round_scores(number) for number in rounds}
    return {
        number: {hotkey: Fraction(nano, NANO) for hotkey, nano in scores.items()}
        for number, scores in found.items()
    }


def lived(ledger: Ledger, told: Oracle, number: int, epoch: Epoch, folder: Path) -> None:
    register(ledger, epoch)
    ledger.import_events(written(folder / "lines.jsonl", epoch.lines))
    clear(ledger, epoch)
    told.live(number, epoch)
    ledger.close_epoch(number)


def assert_agrees(ledger: Ledger, told: Oracle, lines: Sequence[Record]) -> None:
    with ledger.queries() as queries:
        assert fractions_of(queries.state) == told.reputations
        assert levels_of(queries.state) == told.levels
        flags = {hotkey: miner.flags for hotkey, miner in queries.state.miners.items()}
        assert flags == {hotkey: told.flags[hotkey] for hotkey in flags}
        expected = told.round_scores(lines)
        assert scores_of(queries, expected) == expected


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", oracle.RULES)
def test_every_epoch_of_a_history_ends_as_in_the_oracle(
    name: str, seed: int, tmp_path: Path
) -> None:
    told, lines = Oracle.begun(name), list[Record]()
    with Ledger.create(str(tmp_path / "state.db"), name) as ledger:
        for number, epoch in enumerate(history(seed)):
            lived(ledger, told, number, epoch, tmp_path)
            lines += epoch.lines
            assert_agrees(ledger, told, lines)


def test_histories_have_what_they_are_for() -> None:
    """Lines of an epoch that is over, flags, newcomers of later epochs, consensus components."""
    every = [(number, e) for seed in SEEDS for number, e in enumerate(history(seed))]
    lines = [(number, line) for number, epoch in every for line in epoch.lines]
    assert any(line["epoch"] < number for number, line in lines)
    assert any(line.get("event") == "collusion_flag" for _, line in lines)
    assert any("submission" not in line and "event" not in line for _, line in lines)
    assert any(isinstance(line.get("consensus"), dict) for _, line in lines)
    assert any(epoch.newcomers for number, epoch in every if number)
    assert any(epoch.cleared for _, epoch in every)
