"""Every error that Tallystick raises for a user's mistake.

::

    TallystickError
    ├── NumberError      a number that no published value can be
    ├── FormulaError     a formula that cannot be built, or cannot be proved safe
    │   └── FloatError   a float among the numbers of a formula
    ├── UndecidedError   two exact values that the most digits do not tell apart
    ├── PluginError      a plugin that cannot be used
    ├── SchemaError      a record schema that the engine cannot read
    ├── RuleSetError     a rule set that does not load; carries every problem found
    ├── RecordError      one record that cannot be scored
    ├── InputError       a file of records that cannot be read
    │   └── EmptyInputError a file of records that has none
    ├── YumaError        a case of Yuma, or parameters of it, that no chain can have
    ├── OutputError      a result that cannot be written
    ├── AllocationError  a population that has no weights by the rules
    ├── EngineError      worker processes or a cluster that cannot be used
    ├── StateError       a transition that the state does not allow
    │   └── RefusedError a batch of signals that is refused whole; carries every reason
    ├── TrustError       a key, a signature, a trust file, a lock or a proof that does not hold
    │   └── LockError    what is installed differs from a lock; carries every difference
    └── StoreError       a store of a state that cannot be used
        ├── NoStoreError a place that has no store
        └── DamagedError a store, or a file of one, that does not follow from its log
            └── OtherSnapshotError a log that leads to another snapshot than it says

A message says what was found, where, what was expected, and what to do; lower case, no full stop.
"""

from __future__ import annotations

import re
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, Self

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tallystick.diagnostics import Diagnostic


class TallystickError(Exception):
    """The root: catch this to catch every error of the engine."""


class NumberError(TallystickError):
    """A number that no published value can be: not finite, negative, or finer than 1e-9."""


class FormulaError(TallystickError):
    """A formula that cannot be built, or that cannot be proved safe for every valid record."""


class FloatError(FormulaError):
    """A float among the numbers of a formula, which are exact."""


class UndecidedError(TallystickError):
    """Two exact values that the most digits do not tell apart; nothing is guessed.

    ``value`` and ``formula`` name what asked for it, where that is known.
    """

    def __init__(self, message: str, *, value: str = "", formula: str = "") -> None:
        self.value, self.formula = value, formula
        super().__init__(message)


class PluginError(TallystickError):
    """A plugin that cannot be used, with its name and the reason."""


class SchemaError(TallystickError):
    """A record schema that the engine cannot read."""


class InputError(TallystickError):
    """A file of records that cannot be read at all."""


class YumaError(TallystickError):
    """A case of Yuma, or parameters of it, that no chain can have.

    ``case`` is the name of the case or of the file, ``path`` where in it, ``found`` and
    ``expected`` what is wrong there.
    """

    def __init__(self, case: str, path: str, found: str, expected: str) -> None:
        self.case, self.path, self.found, self.expected = case, path, found, expected
        super().__init__(f"{case}: {path}: found {found}, expected {expected}")


class EmptyInputError(InputError):
    """A file of records that has none; of miners it is one without a miner."""


class OutputError(TallystickError):
    """A result that cannot be written."""


class AllocationError(TallystickError):
    """A population that has no weights by the rules; nothing is written.

    ``code`` is the stable name of the reason.
    """

    def __init__(self, message: str, *, code: str) -> None:
        self.code = code
        super().__init__(message)


class EngineError(TallystickError):
    """Worker processes or a cluster that cannot be used, or that were lost."""


class StateError(TallystickError):
    """A transition that the state, or its rule set, does not allow; nothing has changed.

    ``code`` is the stable name of the reason, empty where it has none.
    """

    def __init__(self, message: str, *, code: str = "") -> None:
        self.code = code
        super().__init__(message)


class TrustError(TallystickError):
    """A key, a signature, a trust file, a lock or a proof that does not hold.

    ``code`` is the stable name of the reason.
    """

    def __init__(self, message: str, *, code: str) -> None:
        self.code = code
        super().__init__(message)


class LockError(TrustError):
    """A difference between an installation and a lock.

    ``differences`` holds all of it, each a `tallystick.lock.check.LockDifference`; ``meaning`` says
    what differing files come to.
    """

    def __init__(self, where: str, differences: Sequence[object], meaning: Sequence[str]) -> None:
        self.differences, self.meaning = tuple(differences), tuple(meaning)
        named = [str(difference) for difference in differences[:MOST_TOLD]]
        head = f"{where}: found other things than are locked: install what is, or lock anew"
        lines = listed(map(on_one_line, [head, *named]), len(differences) - len(named))
        message = "\n".join([lines, *map(on_one_line, meaning)])
        super().__init__(message, code="lock-differs")


class StoreError(TallystickError):
    """A store of a state that cannot be used: not ours, too new, damaged, locked, or full."""


class NoStoreError(StoreError):
    """A place that has no store, where that of a state is to be; ``found`` says what it has."""

    def __init__(self, found: str) -> None:
        self.found = found
        super().__init__(f"{found}, expected the store of a state: run tallystick state init")


class DamagedError(StoreError):
    """A store, or a file of one, that is damaged, or whose content does not follow from its log."""

    store: str | None = None
    """The store that it is of, as it may be shown; None where that is not known yet."""

    def name(self, store: str, way_back: str = "") -> None:
        """Put the name of the store before the message, and behind it what helps; once."""
        if self.store is not None:
            return
        self.store, message = store, str(self)
        if not message.startswith(f"{store}: "):
            message = f"{store}: {message}"
        self.args = (f"{message}; {way_back}" if way_back else message,)


class OtherSnapshotError(DamagedError):
    """A log whose entries lead to another snapshot than it says.

    ``epoch`` is the closed epoch that comes to it, ``found`` the digest that the log says, and
    ``derived`` the one to which its entries lead.
    """

    def __init__(self, seq: int, epoch: int, found: str, derived: str) -> None:
        self.epoch, self.found, self.derived = epoch, found, derived
        super().__init__(
            f"entry {seq} of the log (epoch): found the snapshot {found} after the epoch {epoch}, "
            f"expected {derived}, which the entries before it lead to: the log was changed, or "
            "another engine wrote it"
        )


MOST_TOLD = 50
"""Maximum number of problems of one thing that a message lists; the rest are counted."""
_EXAMPLES = 5
"""Maximum number of lines that are named as further examples of one cause."""
_INDEX = re.compile(r"\[[0-9]+\]")


def on_one_line(text: str) -> str:
    """Return a problem on one line: names in it may have line ends, which would begin another."""
    return text.replace("\n", "\\n")


def listed(told: Iterable[str], more: int) -> str:
    """Return lines as one text, with the number of those that are left out."""
    return "\n".join([*told, *([f"and {more} more"] if more else [])])


class RuleSetError(TallystickError):
    """A rule set that does not load.

    ``problems`` holds what was found, the first ``MOST_TOLD`` of it; ``more`` counts the rest.
    ``reasons`` has, of a formula that cannot be used, what is wrong with it wherever it stands.
    """

    def __init__(
        self,
        problems: Sequence[Diagnostic],
        more: int = 0,
        reasons: Mapping[Diagnostic, FormulaError] = MappingProxyType({}),
    ) -> None:
        self.reasons = reasons
        self.problems = tuple(problems[:MOST_TOLD])
        self.more = more + len(problems) - len(self.problems)
        super().__init__(listed(map(str, self.problems), self.more))


UNDECIDED = "undecided"
"""The code of a record whose value no precision decides."""
INTERNAL_ERROR = "internal-error"
"""The code of a record on which the engine itself fails."""


@attrs.frozen
class Problem:
    """One thing that is wrong with a record.

    Attributes:
        code: stable; a key of ``CODES``, or the name of a requirement such as ``timing-window``.
        path: where, such as ``submission.findings[2].tool``; empty for the record as a whole.
        value: what was found: JSON text, cut to 80 characters, or ``nothing``.
        expected: what was expected, as a fragment such as ``a number from 0 to 1``.
    """

    code: str
    path: str
    value: str
    expected: str


class RecordError(TallystickError):
    """One record that cannot be scored: a stable code, the path, the value, what was expected.

    ``problems`` holds all that is wrong with the record, as far as it was looked for; the first of
    them is this one.
    """

    def __init__(
        self,
        code: str,
        path: str,
        value: str,
        expected: str,
        others: Sequence[Problem] = (),
    ) -> None:
        self.code, self.path, self.value, self.expected = code, path, value, expected
        self.problems = (Problem(code, path, value, expected), *others)
        super().__init__(f"{code}: {path or 'the record'}: found {value}, expected {expected}")

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> Self:
        """Return the error of a record with some problems, of the first of them."""
        first, *others = problems
        return cls(first.code, first.path, first.value, first.expected, others)


class Refusal(Protocol):
    """The reason for which one line of a batch is refused."""

    @property
    def line(self) -> int:
        """The line, from 1."""

    @property
    def code(self) -> str:
        """The stable code of the reason."""

    @property
    def path(self) -> str:
        """The path of the value in the line."""

    @property
    def value(self) -> str:
        """The value, as text."""

    @property
    def expected(self) -> str:
        """The expectation that it does not meet."""


class RefusedError(StateError):
    """A batch of signals that is refused whole; ``refusals`` holds the reason of each bad line."""

    def __init__(self, source: str, refusals: Sequence[Refusal]) -> None:
        self.source, self.refusals = source, tuple(refusals)
        many = f"{len(refusals)} bad line{'' if len(refusals) == 1 else 's'}"
        head = on_one_line(f"{source}: found {many}, expected none: nothing was recorded")
        super().__init__("\n".join([head, *cause_lines(source, self.refusals)]))


def cause_lines(source: str, refusals: Iterable[Refusal]) -> list[str]:
    """Return each cause of bad lines once, by its first line, with how many others it has.

    Args:
        source: the file that they are lines of.
        refusals: why each is refused, by line.
    """
    causes: dict[tuple[str, str, str], list[Refusal]] = {}
    for refusal in refusals:
        # a bad item of a list is one cause, whichever item
        key = refusal.code, _INDEX.sub("[*]", refusal.path), refusal.expected
        causes.setdefault(key, []).append(refusal)
    texts = [_cause_text(source, same) for same in islice(causes.values(), MOST_TOLD)]
    hidden = sum(map(len, islice(causes.values(), MOST_TOLD, None)))
    return [*map(on_one_line, texts), *([f"and {hidden} more"] if hidden else [])]


def _cause_text(source: str, same: Sequence[Refusal]) -> str:
    first, *others = same
    where = f"{source}:{first.line}: {first.code}: {first.path or 'the record'}"
    text = f"{where}: found {first.value}, expected {first.expected}"
    if not others:
        return text
    lines = ", ".join(str(other.line) for other in others[:_EXAMPLES])
    rest = ", …" if len(others) > _EXAMPLES else ""
    noun = "line" if len(others) == 1 else "lines"
    return f"{text}; the same in {len(others)} more {noun}: {lines}{rest}"
