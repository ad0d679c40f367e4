"""A subnet lived through epoch by epoch, in plain fractions, under rules that change between them.

It reads lines of records and late events as they are written, and nothing of the engine. What a
record is worth follows the rules of the epoch that it names; what it does to its miner follows the
rules of the epoch in which it counts. When other rules begin:

- a reputation is kept, within the bounds of the new rules, also of a type that they lack;
- the flags of a miner are kept, with who gave them since they were last cleared;
- a threshold that both rules follow is kept, and is at least its formula at the new baseline; one
  that only the new rules follow, or whose type they bring, begins at its seed; others are gone.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from oracle import reputation, rows
from oracle.composites import is_corrected
from oracle.consensus import band, combine
from oracle.decimals import published
from oracle.emissions import BASE_WEIGHTS, emission
from oracle.tiers import BASELINES, MULTIPLIERS, thresholds

Line = dict[str, Any]
Owner = tuple[str, str]
Levels = dict[str, tuple[Fraction, Fraction]]
Scores = dict[int, dict[str, Fraction]]

_TASK = "validator", "hotkey", "skill_type", "task_id", "round", "epoch"
_TERMS = "early_bonus", "role_multiplier", "consensus", "bootstrap_bonus"
_LOWEST_OF_A_POOL = Fraction("0.2")
_EJECTING = 3


@dataclass(frozen=True)
class RuleSet:
    """Where the rules of two epochs may differ.

    `name` is the shipped rule set that the formulas and the events are of, `types` are the skill
    types, and no reputation falls below `floor`.
    """

    name: str
    types: frozenset[str] = frozenset(BASELINES)
    floor: Fraction = reputation.FLOOR

    @property
    def changes(self) -> reputation.Rules:
        """How events move a reputation, and how a threshold follows."""
        found = reputation.RULES[self.name]
        return reputation.Rules(found.corrected, found.drift, found.by_validator, self.floor)

    @property
    def decided(self) -> bool:
        """Whether a quorum ejects, events wait for a task, and it counts once (E90, E91, E97)."""
        return self.name == "skills@1.2.0"

    @property
    def seeds(self) -> Levels:
        """The baseline and the novel threshold of each type."""
        every = {skill_type: thresholds(skill_type, self.name) for skill_type in self.types}
        return {skill_type: (baseline, novel) for skill_type, (baseline, _, novel) in every.items()}


class Registration(Protocol):
    """Who takes a slot, and what for."""

    @property
    def hotkey(self) -> str:
        """Who."""

    @property
    def uid(self) -> int:
        """The slot."""

    @property
    def types(self) -> Sequence[str]:
        """The skill types that it declares."""


class History:
    """What a state is, rebuilt from the lines alone; `rules` are those of an epoch."""

    def __init__(self, rules: Callable[[int], RuleSet]) -> None:
        self.rules, self.epoch = rules, 0
        self.reputations: dict[Owner, Fraction] = {}
        self.levels = rules(0).seeds
        self.flagged: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self.slots: dict[int, str] = {}
        self.declared: dict[str, Sequence[str]] = {}
        self.pinned: dict[int, tuple[Mapping[Owner, Fraction], Levels]] = {}
        self._waiting: list[tuple[int, Line]] = []
        self._tasks: set[tuple[Any, ...]] = set()
        self._cleared: dict[str, int] = {}
        self._pin()

    def live(
        self, newcomers: Iterable[Registration], lines: Iterable[Line], cleared: Iterable[str]
    ) -> None:
        """The open epoch: first registrations, then lines, then clearings; and its end."""
        for each in newcomers:
            self._register(each)
        reports = []
        for came, line in self._arrived(lines):
            each = self._report(line)
            reports.append(each)
            # what was there before a clearing was cleared, also while it waited
            if came > self._cleared.get(each.hotkey, -1) and "collusion_flag" in each.events:
                flags = each.events.count("collusion_flag")
                self.flagged[each.hotkey][each.validator] += flags
        for hotkey in cleared:
            self.flagged[hotkey].clear()
            self._cleared[hotkey] = self.epoch
        changes = self.rules(self.epoch).changes
        bases = {epoch: reputations for epoch, (reputations, _) in self.pinned.items()}
        self.reputations |= reputation.reputations(self.reputations, reports, bases, changes)
        self.levels |= reputation.levels(self.levels, reports, changes)
        self.epoch += 1
        self._adopt(self.rules(self.epoch - 1), self.rules(self.epoch))
        self._pin()

    def pool(self, skill_type: str) -> list[str]:
        """Who can be selected in the open epoch, the best first."""
        rules, there = self.rules(self.epoch), set(self.slots.values())
        found = [
            (-self.reputations[hotkey, skill_type], hotkey)
            for hotkey, types in self.declared.items()
            if skill_type in types and hotkey in there and not self._is_ejected(hotkey, rules)
        ]
        return [hotkey for negative, hotkey in sorted(found) if -negative >= _LOWEST_OF_A_POOL]

    def round_scores(self, lines: Iterable[Line]) -> Scores:
        """reputation.txt, "How Reputation Drives Round Aggregation"; E36 to E38, E97.

        A round is averaged as the rules of the first epoch have it that a record of it names.
        """
        rounds = defaultdict[int, list[Line]](list)
        for line in lines:
            if "event" not in line:
                rounds[line["round"]].append(line)
        found: Scores = {}
        for number, records in rounds.items():
            rules = self.rules(min(line["epoch"] for line in records))
            sums = defaultdict[str, list[Fraction]](lambda: [Fraction(0)] * 2)
            tasks = Counter(map(_task_of, records))
            for line in records:
                above, below = self._terms(line, corrected=is_corrected(rules.name))
                parts = tasks[_task_of(line)] if rules.decided else 1
                of_miner = sums[line["miner"]["hotkey"]]
                of_miner[0] += above / parts
                of_miner[1] += below / parts
            found[number] = {
                hotkey: published(above / below) if below else Fraction(0)
                for hotkey, (above, below) in sums.items()
            }
        return found

    def _pin(self) -> None:
        self.pinned[self.epoch] = dict(self.reputations), dict(self.levels)

    def _register(self, newcomer: Registration) -> None:
        for uid in [uid for uid, hotkey in self.slots.items() if hotkey == newcomer.hotkey]:
            del self.slots[uid]
        self.slots[newcomer.uid] = newcomer.hotkey
        self.declared[newcomer.hotkey] = newcomer.types
        for skill_type in newcomer.types:
            owner = newcomer.hotkey, skill_type
            self.reputations.setdefault(owner, reputation.INITIAL)

    def _adopt(self, old: RuleSet, new: RuleSet) -> None:
        if old == new:
            return
        for owner, found in self.reputations.items():
            if owner[1] in new.types:
                self.reputations[owner] = max(found, new.floor)
        # the corrected line publishes its baselines and follows none
        both_follow = not is_corrected(old.name) and not is_corrected(new.name)
        before, self.levels = self.levels, new.seeds
        for skill_type in self.levels.keys() & before.keys():
            (found, novel), (seed, _) = before[skill_type], self.levels[skill_type]
            baseline = found if both_follow else seed
            lowest = reputation.lowest_novel(baseline, new.changes)
            self.levels[skill_type] = baseline, published(max(novel, lowest))

    def _is_ejected(self, hotkey: str, rules: RuleSet) -> bool:
        given = self.flagged[hotkey]
        return sum(given.values()) >= _EJECTING and len(given) >= (2 if rules.decided else 1)

    def _arrived(self, lines: Iterable[Line]) -> list[tuple[int, Line]]:
        """The lines that count now, and when each came; some events wait for their task."""
        present = [*self._waiting, *((self.epoch, line) for line in lines)]
        flat = [line | line.get("miner", {}) for _, line in present]
        tasks = [tuple(map(each.get, _TASK)) for each in flat]
        self._tasks |= {task for task, each in zip(tasks, flat, strict=True) if "event" not in each}
        waits = [
            "event" in each and task not in self._tasks and self.rules(each["epoch"]).decided
            for task, each in zip(tasks, flat, strict=True)
        ]
        self._waiting = [each for each, wait in zip(present, waits, strict=True) if wait]
        return [each for each, wait in zip(present, waits, strict=True) if not wait]

    def _report(self, line: Line) -> reputation.Report:
        if "event" in line:
            return reputation.Report(
                *(line[name] for name in _TASK[:-2]), line["round"], line["epoch"], (line["event"],)
            )
        events = tuple(line["events"])
        # E29: nothing came in time that a group could have agreed on
        if "consensus" in line and "missed_deadline" not in events:
            events += (f"consensus_{band(combine(line['consensus']))}",)
        about = line["validator"], line["miner"]["hotkey"], line["skill_type"], line["task_id"]
        quality = None
        if "submission" in line:
            quality = Fraction(rows.score(line, self.rules(line["epoch"]).name)["quality"])
        return reputation.Report(
            *about, line["round"], line["epoch"], events, line["role"], quality
        )

    def _terms(self, line: Line, *, corrected: bool) -> tuple[Fraction, Fraction]:
        """What a record brings to both sums of a round."""
        missed = "missed_deadline" in line["events"]
        if missed and not corrected:
            return Fraction(0), Fraction(0)
        skill_type, base = line["skill_type"], BASE_WEIGHTS[line["skill_type"]]
        owner = line["miner"]["hotkey"], skill_type
        weight = self.pinned[line["epoch"]][0].get(owner, reputation.INITIAL)
        earned = Fraction(0) if missed else self._emission(line)
        if corrected:
            return earned * weight, base
        return earned * base * weight, base * weight

    def _emission(self, line: Line) -> Fraction:
        """By the rules and at the thresholds of the epoch that the record names."""
        name, skill_type = self.rules(line["epoch"]).name, line["skill_type"]
        row = rows.score(line, name)
        baseline, novel = self.pinned[line["epoch"]][1][skill_type]
        optimised = published(Fraction("1.15") * baseline)
        if is_corrected(name):
            optimised = published(min(optimised, baseline + Fraction("0.15") * (1 - baseline)))
        reached = [level <= Fraction(row["quality"]) for level in (baseline, optimised, novel)]
        below, *above = MULTIPLIERS.values()
        multipliers = [each for each, ok in zip(above, reached, strict=True) if ok]
        factors = {term: Fraction(row[term] or 1) for term in _TERMS}
        factors |= {"base": BASE_WEIGHTS[skill_type], "tier": max([below, *multipliers])}
        return emission(row["quality"], factors)


def _task_of(line: Line) -> tuple[str, str, str]:
    """The task of a round that a record is of, whoever recorded it."""
    return line["miner"]["hotkey"], line["skill_type"], line["task_id"]
