"""The laws of a state, over lives that Hypothesis makes up, against the independent oracle.

- Every epoch ends as in the oracle, whose rules change as those of the state do; also where several
  validators recorded a task, which counts for each, or since 1.2.0 by their mean (E97).
- In which order and batches lines come, and how often, decides nothing.
- A state that was opened again, copied, taken back or pruned goes on as the one that it was.
- The log leads to everything that the state holds.
"""

import random
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import examples
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from oracle.history import History, RuleSet
from state.agreement import assert_agrees
from state.chronicle import (
    AT_ONCE,
    VALIDATORS,
    Epoch,
    clear,
    digest_of,
    feed,
    history,
    register,
    varied,
)
from state.subnet import Record, written

from tallystick_state.ledger import Ledger
from tallystick_state.model import State
from tallystick_state.replay import verify
from tallystick_state.transfer import export_state, import_state

NAMES = ("skills@1.0.0", "skills@1.1.0", "skills@1.2.0")
EPOCHS, ROUNDS = 4, 2
WAYS = ("mappings", "file", "rounds")


def with_late(epoch: Epoch, rng: random.Random, share: float) -> Epoch:
    """The epoch with some submissions that came late, often the best of all."""
    lines = list[Record]()
    for line in epoch.lines:
        if "submission" in line and rng.random() < share:
            events = ["missed_deadline", *rng.choices(AT_ONCE, k=rng.choice([0, 0, 1]))]
            latency = rng.choice([line["submission"]["latency_ms"], 30_000])
            late = {"events": events, "submission": line["submission"] | {"latency_ms": latency}}
            lines.append(line | late)
        else:
            lines.append(line)
    return Epoch(epoch.newcomers, lines, epoch.cleared)


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


def without_answer(line: Record) -> Record:
    """A late submission as if it had never come (E96)."""
    if "missed_deadline" not in line.get("events", ()):
        return line
    return {name: value for name, value in line.items() if name not in ("submission", "checks")}


def send(ledger: Ledger, lines: Sequence[Record], way: str, folder: Path) -> None:
    """Give a state some lines: as mappings, a file, or rounds that are closed."""
    if way == "mappings":
        ledger.import_events(lines)
        return
    if way == "file":
        path = written(folder / "lines.jsonl", lines)
        # other spacing, and other ends of lines
        path.write_bytes(path.read_bytes().replace(b": ", b" :\t").replace(b"\n", b"\r\n"))
        ledger.import_events(path)
        return
    records = [line for line in lines if "event" not in line]
    if late := [line for line in lines if "event" in line]:
        ledger.import_events(late)
    # validators that name two epochs of a round give it each on its own
    for named in sorted({(line["round"], line["epoch"]) for line in records}, reverse=True):
        own = [line for line in records if (line["round"], line["epoch"]) == named]
        ledger.close_round(own, named[0])


class Lives(RuleBasedStateMachine):
    """A state that is fed, closed, copied and pruned, beside the oracle."""

    @initialize(
        seed=st.integers(0, 2**20),
        name=st.sampled_from(NAMES),
        plain=st.booleans(),
        late=st.sampled_from((0.1, 0.4, 0.8)),
        shared=st.booleans(),
        bare=st.booleans(),
    )
    def begin(  # noqa: PLR0913, PLR0917  # each is drawn
        self, seed: int, name: str, plain: bool, late: float, shared: bool, bare: bool
    ) -> None:
        """Make a history up, and begin a state under one of the rule sets."""
        rng = random.Random(seed)
        made = history(seed, EPOCHS, plain=plain, records=5)
        epochs = [recorded_again(each, rng) if shared else each for each in varied(made)]
        self.epochs = [with_late(each, rng, late) for each in epochs]
        self.folder = TemporaryDirectory()
        self.path, self.places = Path(self.folder.name), 0
        self.calendar, self.pending = {0: name}, dict[int, str]()
        self.ledger = Ledger.create(self.place(), name)
        self.told, self.lines = History(self.rules_at), list[Record]()
        self.ends, self.bare = list[tuple[str, State]](), bare
        self.pruned = 0
        self.rest = list[Record]()
        self.open()

    def rules_at(self, epoch: int) -> RuleSet:
        """The rules of an epoch, as the adoptions have them."""
        every = self.calendar | self.pending
        return RuleSet(every[max(first for first in every if first <= epoch)])

    def place(self) -> Path:
        """Where no state is yet."""
        self.places += 1
        return self.path / f"{self.places}.db"

    def open(self) -> None:
        """Register the newcomers of the epoch that is open, if there is one more."""
        if self.told.epoch < EPOCHS:
            register(self.ledger, self.epochs[self.told.epoch])
            self.rest = [*self.epochs[self.told.epoch].lines]

    @precondition(lambda self: self.rest)
    @rule(
        many=st.integers(1, 12),
        way=st.sampled_from(WAYS),
        order=st.randoms(use_true_random=False),
        again=st.booleans(),
    )
    def send(self, many: int, way: str, order: Any, again: bool) -> None:  # noqa: ANN401  # a Random
        """Give the state some lines of the epoch, once or twice."""
        order.shuffle(self.rest)
        some, self.rest = self.rest[:many], self.rest[many:]
        for _ in range(1 + again):
            send(self.ledger, some, way, self.path)

    @precondition(lambda self: self.told.epoch < EPOCHS)
    @rule()
    def close(self) -> None:
        """Close the epoch with what is left of it; it ends as in the oracle."""
        number = self.told.epoch
        epoch = self.epochs[number]
        if self.rest:
            send(self.ledger, self.rest, "file", self.path)
        clear(self.ledger, epoch)
        self.ledger.close_epoch(number)
        self.lines += epoch.lines
        self.told.live(epoch.newcomers, epoch.lines, epoch.cleared)
        if number + 1 in self.pending:
            self.calendar[number + 1] = self.pending.pop(number + 1)
        kept = [line for line in self.lines if line["round"] >= ROUNDS * self.pruned]
        assert_agrees(self.ledger, self.told, kept)
        with self.ledger.queries() as queries:
            self.ends.append((queries.digest(), queries.state))
        self.open()

    @precondition(lambda self: not self.pending and self.told.epoch + 1 < EPOCHS)
    @rule(name=st.sampled_from(NAMES), later=st.integers(1, 2), withdrawn=st.booleans())
    def adopt(self, name: str, later: int, withdrawn: bool) -> None:
        """Adopt newer rules from a later epoch on, or take that back."""
        if name <= self.calendar[max(self.calendar)]:
            return
        self.ledger.adopt(name, self.told.epoch + later)
        if withdrawn:
            self.ledger.withdraw()
        else:
            self.pending[self.told.epoch + later] = name

    @rule(way=st.sampled_from(("opened", "exported", "joined")))
    def move(self, way: str) -> None:
        """Go on with the same state elsewhere."""
        before, place = digest_of(self.ledger), self.place()
        if way == "opened":
            self.ledger = Ledger.open(str(self.ledger.store.path))
        elif way == "exported":
            export_state(self.ledger, self.path / "state.jsonl")
            import_state(self.path / "state.jsonl", place)
            self.ledger = Ledger.open(place)
        else:
            with self.ledger.together() as joined:
                if self.rest:
                    send(joined, self.rest[:1], "mappings", self.path)
                    self.rest = self.rest[1:]
            return
        assert digest_of(self.ledger) == before

    @precondition(lambda self: self.told.epoch > 1)
    @rule()
    def prune(self) -> None:
        """Remove what no rule reads any more."""
        before = digest_of(self.ledger)
        self.ledger.prune(self.told.epoch - 1)
        self.pruned = self.told.epoch - 1
        assert digest_of(self.ledger) == before

    def teardown(self) -> None:
        """The log leads to the state, and who was fed in order, without late answers, has it."""
        if not hasattr(self, "ledger"):
            return
        with self.folder:
            verify(self.ledger)
            self.lived_in_order()

    def lived_in_order(self) -> None:
        """Live again, each epoch as one file, and without the answers that came late if drawn."""
        with Ledger.create(self.place(), self.calendar[0]) as ledger:
            for epoch, name in sorted(self.calendar.items())[1:]:
                ledger.adopt(name, epoch)
            for number, (digest, state) in enumerate(self.ends):
                epoch = self.epochs[number]
                if self.bare:
                    epoch = Epoch(
                        epoch.newcomers, [*map(without_answer, epoch.lines)], epoch.cleared
                    )
                feed(ledger, epoch, self.path)
                ledger.close_epoch(number)
                with ledger.queries() as queries:
                    assert queries.state == state
                    assert self.bare or queries.digest() == digest


Lives.TestCase.settings = settings(max_examples=examples.number(9), stateful_step_count=12)
test_a_life_is_that_of_the_oracle = Lives.TestCase


def test_histories_have_what_they_are_for() -> None:
    """Lines of an epoch that is over, flags, newcomers of later epochs, consensus components."""
    every = [(number, e) for seed in range(4) for number, e in enumerate(varied(history(seed)))]
    lines = [(number, line) for number, epoch in every for line in epoch.lines]
    assert any(line["epoch"] < number for number, line in lines)
    assert any(line.get("event") == "collusion_flag" for _, line in lines)
    assert any("submission" not in line and "event" not in line for _, line in lines)
    assert any(isinstance(line.get("consensus"), dict) for _, line in lines)
    assert any(epoch.newcomers for number, epoch in every if number)
    assert any(epoch.cleared for _, epoch in every)
