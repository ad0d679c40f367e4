"""A state under orders of any kind, by validators who forge what others said.

Invariants, after every step:

- what is refused changes nothing, and nothing ends in anything but an error of the engine;
- the log only grows, and its chain leads to its head;
- the same again is known.

And of the whole: the log replayed leads to what is stored, an import of its export is the same
state, and its digest is that of a state that got the same claims in another order.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from attack.scale import CASES
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from state.subnet import Record, event, missed, record, written

from tallystick.errors import TallystickError
from tallystick_state.chain import check
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify
from tallystick_state.transfer import export_state, import_state

RULES = "skills@1.2.0"
MINERS = ("hk-0", "hk-1", "hk-2")
OWN = "val-0"
VALIDATORS = (OWN, "val-1", "val-2", "val-unheard")
TYPE = "executable_python"
_FLAGS = ("collusion_flag", "rerun_fail", "probe_fail")

Lines = list[Record]


@st.composite
def claims(draw: st.DrawFn) -> Lines:
    """Lines of any validator in any name, about a few tasks, so that they meet."""
    return [draw(_claim()) for _ in range(draw(st.integers(1, 4)))]


@st.composite
def _claim(draw: st.DrawFn) -> Record:
    task, hotkey = draw(st.sampled_from(("t0", "t1"))), draw(st.sampled_from((*MINERS, "hk-x")))
    who = {
        "validator": draw(st.sampled_from(VALIDATORS)),
        "round": draw(st.integers(0, 1)),
        "epoch": draw(st.sampled_from((0, 0, 0, 1, 2))),
    }
    match draw(st.integers(0, 3)):
        case 0:
            flag = draw(st.sampled_from(_FLAGS))
            return event(f"e{draw(st.integers(0, 2))}", flag, task, hotkey, **who)
        case 1:
            return missed(task, hotkey, **who)
        case _:
            latency = draw(st.sampled_from((30_000, 31_000)))
            return record(task, hotkey, latency_ms=latency, **who)


class Hostile(RuleBasedStateMachine):
    """A state that names its validator and whom it hears."""

    def __init__(self) -> None:
        """Begin with every miner registered."""
        super().__init__()
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        self.taken, self.decided = [list[tuple[str, Lines]]()], False
        self.ledger = self._begun("state.db")
        self.entries = 0

    def _begun(self, name: str) -> Ledger:
        ledger = Ledger.create(self.folder / name, RULES, validator=OWN, hear=VALIDATORS[1:3])
        for uid, hotkey in enumerate(MINERS):
            ledger.register(hotkey, uid, [TYPE])
        return ledger

    def _tried(self, step: Callable[[], object]) -> bool:
        before = self._head()
        try:
            step()
        except TallystickError:
            assert self._head() == before
            return False
        return True

    def _head(self) -> tuple[int, str, str]:
        with self.ledger.queries() as queries:
            return queries.head.entries, queries.head.hash, queries.digest()

    def _take(self, ledger: Ledger, way: str, lines: Lines) -> object:
        file = written(self.folder / "lines.jsonl", lines)
        return ledger.close_round(file)[1] if way == "close" else ledger.import_events(file)

    @rule(lines=claims(), way=st.sampled_from(("import", "close")))
    def take(self, lines: Lines, way: str) -> None:
        """Import a file, or close the rounds of one, and do it again."""
        if self._tried(lambda: self._take(self.ledger, way, lines)):
            self.taken[-1].append((way, lines))
            again = self._take(self.ledger, way, lines)
            assert again.events == 0, again

    @rule()
    def close_epoch(self) -> None:
        """Close the open epoch, which makes what it counted final."""
        if len(self.taken) < 3:
            self.ledger.close_epoch()
            self.taken.append([])

    @rule(epoch=st.integers(-1, 9))
    def close_another_epoch(self, epoch: int) -> None:
        """Close an epoch that is closed, or that has not begun."""
        if epoch != len(self.taken) - 1:
            self._tried(lambda: self.ledger.close_epoch(epoch))

    @rule(hotkey=st.sampled_from((*MINERS, "hk-x")))
    def clear(self, hotkey: str) -> None:
        """Clear the flags of a miner, which are those that came before."""
        before = self._head()
        self._tried(lambda: self.ledger.clear(hotkey))
        self.decided |= self._head() != before

    @rule(way=st.sampled_from(("accept", "drop")), place=st.integers(0, 5))
    def decide(self, way: str, place: int) -> None:
        """Accept or drop one of the claims that are not recorded, or one that is none."""
        with self.ledger.queries() as queries:
            waiting = [each.seq for each in queries.quarantine()]
        number = waiting[place] if place < len(waiting) else place
        if self._tried(lambda: getattr(self.ledger, way)([number])):
            self.decided = True
            with self.ledger.queries() as queries:
                assert number not in {each.seq for each in queries.quarantine()}

    @invariant()
    def the_chain_holds(self) -> None:
        """The log has grown, and leads to its head."""
        with self.ledger.store.reading() as transaction:
            head = transaction.head()
            assert head is not None
            entries = list(check(transaction.entries(), count=head.entries, last=head.hash))
        assert len(entries) >= self.entries
        self.entries = len(entries)

    def teardown(self) -> None:
        """Replay, import an export, and feed the same in another order."""
        try:
            verify(self.ledger)
            export_state(self.ledger, self.folder / "export.jsonl")
            import_state(self.folder / "export.jsonl", self.folder / "imported.db")
            with Ledger.open(self.folder / "imported.db") as imported, imported.queries() as found:
                assert found.digest() == self._head()[2]
            # what an operator decides depends on what is there
            if not self.decided:
                assert self._in_another_order() == self._head()[2]
        finally:
            self.temporary.cleanup()

    def _in_another_order(self) -> str:
        """The digest of a state that took the files of each epoch from the last to the first."""
        other = self._begun("other.db")
        for number, files in enumerate(self.taken):
            if number:
                other.close_epoch()
            for way, lines in reversed(files):
                self._take(other, way, lines)
        with other.queries() as queries:
            return queries.digest()


@pytest.mark.nightly
class TestHostile(Hostile.TestCase):
    settings = settings(max_examples=max(1, CASES // 200), stateful_step_count=20)
