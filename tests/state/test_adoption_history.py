"""A history whose rules gain and lose types, quorums and floors: every digit as in the oracle."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
import pytest
from oracle.history import History, RuleSet
from oracle.tiers import BASELINES
from state.agreement import assert_agrees
from state.chronicle import Epoch, feed, history, varied
from state.subnet import Record
from state.variants import put, variant, without_type

from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify

FEWER = frozenset(BASELINES) - {"rag_knowledge"}
WITHOUT_RAG = RuleSet("skills@1.1.0", FEWER)
MADE_UP = (
    RuleSet("skills@1.0.0"),
    WITHOUT_RAG,
    RuleSet("skills@1.2.0"),
    RuleSet("skills@1.0.0"),
    RuleSet("skills@1.0.0", FEWER, BASELINES["rag_knowledge"]),
    WITHOUT_RAG,
    RuleSet("skills@1.1.0"),
)
"""By epoch. A type goes and comes back, twice; a quorum comes and goes; a median again; a floor."""


def made_up(epoch: int) -> RuleSet:
    return MADE_UP[min(epoch, len(MADE_UP) - 1)]


def made_up_file(folder: Path, rules: RuleSet, number: int) -> Path:
    """The file of a made-up rule set, under a version of its own."""
    floor = put(float(rules.floor), "reputation", "floor")
    gone = map(without_type, BASELINES.keys() - rules.types)
    return variant(folder, rules.name, f"1.0.{number}", floor, *gone)


def fitting(told: Sequence[Epoch]) -> Iterator[Epoch]:
    """The history without what the rules refuse: types that they lack, events that went."""
    declared: set[tuple[str, str]] = set()
    for number, epoch in enumerate(told):
        rules = made_up(number)
        newcomers = [
            attrs.evolve(each, types=tuple(t for t in each.types if t in rules.types))
            for each in epoch.newcomers
        ]
        newcomers = [each for each in newcomers if each.types]
        declared |= {(each.hotkey, name) for each in newcomers for name in each.types}
        known = {hotkey for hotkey, _ in declared}
        lines = [line for line in epoch.lines if _fits(line, declared)]
        yield Epoch(newcomers, lines, [hotkey for hotkey in epoch.cleared if hotkey in known])


def _fits(line: Record, declared: set[tuple[str, str]]) -> bool:
    owner = (line | line.get("miner", {}))["hotkey"], line["skill_type"]
    went = line["epoch"] >= 3 and made_up(line["epoch"]).name == "skills@1.0.0"
    names = {*line.get("events", ()), line.get("event")}
    unknown = went and names & {"parse_failure", "early_arrival"}
    return owner in declared and owner[1] in made_up(line["epoch"]).types and not unknown


@pytest.fixture(scope="module")
def told() -> list[Epoch]:
    """A history of as many epochs."""
    return list(fitting(varied(history(331, epochs=len(MADE_UP), records=5))))


def test_a_type_that_is_gone_and_comes_back_is_as_in_the_oracle(
    told: Sequence[Epoch], tmp_path: Path
) -> None:
    paths = [made_up_file(tmp_path, rules, number) for number, rules in enumerate(MADE_UP)]
    expected, rounds = History(made_up), defaultdict[int, list[Record]](list)
    with Ledger.create(tmp_path / "state.db", paths[0]) as ledger:
        for number, epoch in enumerate(told):
            for path in paths[number + 1 : number + 2]:
                ledger.adopt(path, number + 1, major=True)
            feed(ledger, epoch, tmp_path)
            ledger.close_epoch(number)
            expected.live(epoch.newcomers, epoch.lines, epoch.cleared)
            for line in epoch.lines:
                rounds[line["round"]].append(line)
            changed = {line["round"] for line in epoch.lines}
            assert_agrees(ledger, expected, [line for each in changed for line in rounds[each]])
        assert verify(ledger).snapshots == len(told) + 1


def test_the_made_up_history_has_what_it_is_for(told: Sequence[Epoch]) -> None:
    """Records of a type after it went, flags on both sides of a quorum, rounds of two epochs."""
    lines = [(number, line) for number, epoch in enumerate(told) for line in epoch.lines]
    gone = {n for n, line in lines if line["skill_type"] not in made_up(n).types}
    assert gone == {1, 4}
    rounds = defaultdict(set)
    for _, line in lines:
        if "event" not in line:
            rounds[line["round"]].add(made_up(line["epoch"]))
    assert sum(len(each) > 1 for each in rounds.values()) >= 3
    flags = {n for n, line in lines if line.get("event") == "collusion_flag"}
    assert {1, 2, 3} <= flags
