"""``--locked``: hold a command to a lock, before it scores or writes anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import attrs
import click

from tallystick.cli import settings
from tallystick.cli.settings import Setting
from tallystick.errors import InputError
from tallystick.lock.lock_file import FILE, LARGEST

if TYPE_CHECKING:
    from tallystick.lock.lock_file import Lock
    from tallystick.rules.model import RuleSet

_Result = TypeVar("_Result")
_OPTIONS = (
    click.option(
        "--locked",
        cls=Setting,
        key="locked",
        is_flag=True,
        help=f"Refuse whatever differs from {FILE} in the working folder.",
    ),
    click.option(
        "--lock",
        "lock_file",
        cls=Setting,
        key="lock",
        metavar="FILE",
        help="Refuse whatever differs from this lock.",
    ),
)
LOCK_NAMES = ("locked", "lock_file")
"""Names of the options among the values of a command."""


class Rules(Protocol):
    """A rule set, in whatever form a command has it."""

    @property
    def rule_set(self) -> RuleSet:
        """The value."""

    @property
    def digest(self) -> str:
        """The digest of its meaning."""


@attrs.frozen
class HeldLock:
    """A lock that a command is held to.

    Attributes:
        path: where it is.
        lock: what it says.
        of_states: whether the code of states is compared, too, before the command begins.
    """

    path: Path
    lock: Lock
    of_states: bool = True
    _required: set[str] = attrs.field(factory=set, init=False, eq=False, repr=False)

    @classmethod
    def read(cls, path: Path) -> HeldLock:
        """Return the lock in a file.

        Raises:
            InputError: it cannot be read.
        """
        from tallystick.lock.lock_file import read  # where there is one

        return cls(path, read(path))

    @classmethod
    def here(cls) -> HeldLock:
        """Return the lock in the working folder, which nobody else can write.

        Raises:
            InputError: there is none, or it cannot be read.
        """
        from tallystick.lock.lock_file import parse

        file = settings.in_working_folder(FILE, LARGEST + 1)
        if file is None:
            raise InputError(
                f"found no {FILE} of your own in the working folder, expected one: write "
                "it by tallystick lock --rules, or name one by --lock"
            )
        return cls(file.path, parse(file.data, str(file.path)))

    def references(self) -> list[str | Path]:
        """Return a reference to each rule set of the lock.

        Raises:
            InputError: the file of one holds none.
        """
        from tallystick.lock.check import reference_of  # when asked for

        folder = self.path.parent
        return [reference_of(name, rules, folder) for name, rules in self.lock.rule_sets.items()]

    def check(self) -> None:
        """Compare what is installed.

        Raises:
            TrustError: something differs.
        """
        from tallystick.lock.check import check  # when asked for
        from tallystick.lock.installed import CLOSURES
        from tallystick.plugins.code import SCORING

        check(self.lock, self.path, CLOSURES if self.of_states else [SCORING])

    def require_code_of_states(self) -> None:
        """Compare what steps a state, unless that is done.

        Raises:
            TrustError: something differs.
        """
        if not self.of_states:
            attrs.evolve(self, of_states=True).check()

    def require(self, rules: Rules) -> None:
        """Refuse a rule set that the lock lacks.

        Raises:
            TrustError: it has none that means the same.
        """
        from tallystick.lock.check import require

        require(self.lock, self.path, rules.rule_set.reference, rules.digest)
        self._required.add(rules.digest)

    def require_one_of(self, every: Iterable[Rules]) -> None:
        """Require all of some rule sets, unless one of them was required before.

        A source of rules requires those that are in force now; who gives others is refused here.

        Raises:
            TrustError: as `require`.
        """
        rule_sets = list(every)
        if self._required.isdisjoint(rules.digest for rules in rule_sets):
            for rules in rule_sets:
                self.require(rules)

    def require_reference(self, reference: str) -> None:
        """Refuse a reference to a rule set that the lock lacks.

        Raises:
            RuleSetError: the rule set does not load.
            TrustError: as `require`.
        """
        from tallystick.plugins.registry import installed_plugins
        from tallystick.rules.loading import load

        self.require(load(reference, installed_plugins()))


class NoLock:
    """No lock: every rule set will do."""

    def require(self, rules: Rules) -> None:
        """Accept any rule set."""

    def require_one_of(self, every: Iterable[Rules]) -> None:
        """Accept any rule sets."""

    def require_reference(self, reference: str) -> None:
        """Accept any reference."""

    def require_code_of_states(self) -> None:
        """Accept any code."""


Held: TypeAlias = HeldLock | NoLock
"""Lock of a command, or none."""


def locked_options(command: Callable[..., _Result]) -> Callable[..., _Result]:
    """Give a command the options that hold it to a lock, as the one argument ``held``.

    What is installed is compared before the command begins; the rule sets that it goes by are what
    it has to ask for, by ``held.require``.
    """
    return _with_lock(command, of_states=True)


def scoring_locked_options(command: Callable[..., _Result]) -> Callable[..., _Result]:
    """Give a command that needs no state the options that hold it to a lock.

    Only what scores is compared; where a state is named, ``held.require_code_of_states`` has the
    rest compared.
    """
    return _with_lock(command, of_states=False)


def _with_lock(command: Callable[..., _Result], *, of_states: bool) -> Callable[..., _Result]:
    @wraps(command)
    def with_lock(*arguments: Any, **options: Any) -> _Result:  # noqa: ANN401  # any options
        wanted, path = (options.pop(name) for name in LOCK_NAMES)
        held: Held = NoLock()
        if wanted or path is not None:
            lock = HeldLock.here() if path is None else HeldLock.read(Path(path))
            held = attrs.evolve(lock, of_states=of_states)
            held.check()
        return command(*arguments, held=held, **options)

    for option in reversed(_OPTIONS):
        option(with_lock)
    return with_lock
