"""Histories whose rules change: one digest whatever came when, and every digit as in the oracle."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path

import attrs
import pytest
from oracle.history import History, RuleSet
from oracle.tiers import BASELINES
from state.agreement import assert_agrees
from state.chronicle import (
    Epoch,
    Feed,
    backwards_by_validator,
    clear,
    digest_of,
    feed,
    history,
    register,
    shuffled,
    snapshots_of,
)
from state.databases import database, server, where
from state.subnet import Record, written
from vectors.builders import finding

from tallystick.resources import folder
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify
from tallystick_state.transfer import export_state, import_state

__all__ = ["database", "server", "where"]

SHIPPED = {0: "skills@1.0.0", 20: "skills@1.1.0", 40: "skills@1.2.0"}
Calendar = Callable[[Ledger, int], None]
"""What an operator does about adoptions while an epoch is open."""


def adopt(ledger: Ledger, epoch: int) -> None:
    ledger.adopt(SHIPPED[epoch], epoch)


def early(ledger: Ledger, epoch: int) -> None:
    """Everything as the state begins."""
    if epoch == 0:
        adopt(ledger, 20)
        adopt(ledger, 40)


def late(ledger: Ledger, epoch: int) -> None:
    """Each in the last epoch in which it can be."""
    if epoch + 1 in SHIPPED:
        adopt(ledger, epoch + 1)


def withdrawn(ledger: Ledger, epoch: int) -> None:
    """Too early, and other rules; withdrawn, and again."""
    if epoch == 3:
        ledger.adopt("skills@1.2.0", 15)
        ledger.withdraw()
        adopt(ledger, 20)
    elif epoch == 18:
        ledger.adopt("skills@1.2.0", 25)
        ledger.withdraw()
        ledger.withdraw()
    elif epoch == 19:
        adopt(ledger, 20)
        adopt(ledger, 40)
        ledger.withdraw("skills")
    elif epoch == 39:
        adopt(ledger, 40)


def varied(told: Sequence[Epoch]) -> list[Epoch]:
    """The history with what the rule sets score differently, and rounds of two epochs.

    In every other round one validator names the epoch before.
    """
    return [attrs.evolve(each, lines=[*map(_varied, each.lines)]) for each in told]


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


@attrs.frozen
class Life:
    """A state that has lived through a history: the digest and the snapshots of every epoch."""

    digests: Sequence[str]
    snapshots: Sequence[str]


def lived(ledger: Ledger, told: Sequence[Epoch], fed: Feed, calendar: Calendar, at: Path) -> Life:
    digests = []
    for number, epoch in enumerate(told):
        fed(ledger, epoch, at)
        calendar(ledger, number)
        digests.append(digest_of(ledger))
        ledger.close_epoch(number)
    return Life(digests, snapshots_of(ledger))


def rules_at(epoch: int) -> RuleSet:
    return RuleSet(SHIPPED[max(first for first in SHIPPED if first <= epoch)])


def agrees(
    ledger: Ledger,
    told: Sequence[Epoch],
    rules: Callable[[int], RuleSet],
    calendar: Calendar,
    at: Path,
) -> Life:
    """Live through a history, and compare every epoch with the oracle."""
    expected, rounds, digests = History(rules), defaultdict[int, list[Record]](list), []
    for number, epoch in enumerate(told):
        calendar(ledger, number)
        feed(ledger, epoch, at)
        digests.append(digest_of(ledger))
        ledger.close_epoch(number)
        expected.live(epoch.newcomers, epoch.lines, epoch.cleared)
        for line in epoch.lines:
            rounds[line["round"]].append(line)
        changed = {line["round"] for line in epoch.lines}
        assert_agrees(ledger, expected, [line for each in changed for line in rounds[each]])
    return Life(digests, snapshots_of(ledger))


@attrs.frozen
class Expected:
    """What is told of sixty epochs, and the state that was fed it in order."""

    told: Sequence[Epoch]
    life: Life
    ledger: Ledger


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Expected]:
    """A state that agrees with the oracle in every epoch."""
    at = tmp_path_factory.mktemp("expected")
    told = varied(history(29, epochs=60, plain=True, records=4))
    with Ledger.create(at / "state.db", SHIPPED[0]) as ledger:
        yield Expected(told, agrees(ledger, told, rules_at, early, at), ledger)


@pytest.mark.nightly
def test_a_history_under_three_rule_sets_is_what_the_oracle_says(
    expected: Expected, tmp_path: Path
) -> None:
    life, ledger = expected.life, expected.ledger
    assert len({*life.digests}) == len(life.digests) == 60
    assert len(life.snapshots) == verify(ledger).snapshots == 61
    export_state(ledger, tmp_path / "state.jsonl")
    import_state(tmp_path / "state.jsonl", tmp_path / "copy.db")
    with Ledger.open(tmp_path / "copy.db") as copy:
        assert snapshots_of(copy) == life.snapshots
        assert digest_of(copy) == digest_of(ledger)
        export_state(copy, tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "state.jsonl").read_bytes()


def by_halves(ledger: Ledger, epoch: Epoch, at: Path) -> None:
    """In two files, shuffled."""
    register(ledger, epoch)
    lines = shuffled(epoch.lines, 8)
    for half in (lines[::2], lines[1::2]):
        if half:
            ledger.import_events(written(at / "half.jsonl", half))
    clear(ledger, epoch)


@pytest.mark.nightly
def test_on_postgresql_in_halves_with_adoptions_withdrawn_it_is_the_same(
    expected: Expected, database: str, tmp_path: Path
) -> None:
    with Ledger.create(database, SHIPPED[0]) as ledger:
        assert lived(ledger, expected.told, by_halves, withdrawn, tmp_path) == expected.life


@pytest.mark.nightly
@pytest.mark.parametrize("fed", [backwards_by_validator])
@pytest.mark.parametrize("calendar", [late, withdrawn])
def test_order_batches_and_the_time_of_adoptions_do_not_matter(
    fed: Feed, calendar: Calendar, expected: Expected, where: str, tmp_path: Path
) -> None:
    with Ledger.create(where, SHIPPED[0]) as ledger:
        assert lived(ledger, expected.told, fed, calendar, tmp_path) == expected.life
        verify(ledger)


WITHOUT_RAG = RuleSet("skills@1.1.0", frozenset(BASELINES) - {"rag_knowledge"})
MADE_UP: Mapping[int, RuleSet] = {
    0: RuleSet("skills@1.0.0"),
    4: WITHOUT_RAG,
    8: RuleSet("skills@1.2.0"),
    11: RuleSet("skills@1.0.0"),
    13: RuleSet("skills@1.0.0", floor=BASELINES["rag_knowledge"]),
    15: WITHOUT_RAG,
    16: RuleSet("skills@1.1.0"),
}
"""A type that goes and comes back, twice; a quorum that comes and goes; a median again; a floor."""


def made_up(epoch: int) -> RuleSet:
    return MADE_UP[max(first for first in MADE_UP if first <= epoch)]


def text_of(rules: RuleSet, number: int) -> str:
    """The file of a made-up rule set, under a version of its own."""
    name, version = rules.name.split("@")
    text = (folder("rules") / name / f"{version}.toml").read_text(encoding="utf-8")
    text = text.replace(f'version = "{version}"', f'version = "1.0.{number}"')
    assert "\nfloor = 0.05" in text
    text = text.replace("\nfloor = 0.05", f"\nfloor = {float(rules.floor)}")
    for gone in frozenset(BASELINES) - rules.types:
        before, found, after = text.partition(f"\n[skill_types.{gone}]")
        assert found
        text = f"{before}\n[{after.partition(chr(10) + '[')[2]}"
        text = re.sub(rf"\n{gone}\..*", "", text)
    return text


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
    went = line["epoch"] >= 11 and made_up(line["epoch"]).name == "skills@1.0.0"
    names = {*line.get("events", ()), line.get("event")}
    unknown = went and names & {"parse_failure", "early_arrival"}
    return owner in declared and owner[1] in made_up(line["epoch"]).types and not unknown


@pytest.mark.nightly
def test_a_type_that_is_gone_and_comes_back_is_as_in_the_oracle(tmp_path: Path) -> None:
    told, numbers = list(fitting(varied(history(31, epochs=18)))), count()
    paths = {}
    for epoch, rules in MADE_UP.items():
        paths[epoch] = tmp_path / f"{epoch}.toml"
        paths[epoch].write_text(text_of(rules, next(numbers)), encoding="utf-8")

    def calendar(ledger: Ledger, epoch: int) -> None:
        if epoch + 1 in paths:
            ledger.adopt(paths[epoch + 1], epoch + 1, major=True)

    with Ledger.create(tmp_path / "state.db", paths[0]) as ledger:
        life = agrees(ledger, told, made_up, calendar, tmp_path)
        assert verify(ledger).snapshots == 19
        export_state(ledger, tmp_path / "state.jsonl")
    import_state(tmp_path / "state.jsonl", tmp_path / "copy.db")
    with Ledger.open(tmp_path / "copy.db") as copy:
        assert snapshots_of(copy) == life.snapshots


def test_the_made_up_history_has_what_it_is_for() -> None:
    """Records of a type after it went, flags on both sides of a quorum, rounds of two epochs."""
    told = list(fitting(varied(history(31, epochs=18))))
    lines = [(number, line) for number, epoch in enumerate(told) for line in epoch.lines]
    gone = [n for n, line in lines if line["skill_type"] not in made_up(n).types]
    assert {4, 15} <= {*gone}
    rounds = defaultdict(set)
    for _, line in lines:
        if "event" not in line:
            rounds[line["round"]].add(made_up(line["epoch"]))
    assert sum(len(each) > 1 for each in rounds.values()) >= 3
    flags = [n for n, line in lines if line.get("event") == "collusion_flag"]
    assert min(flags) < 8 <= max(flags)
