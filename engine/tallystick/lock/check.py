"""Comparison of an installation with a lock; each difference has a name.

Files are compared first, and nothing is imported for it: formulas, requirements, schemas and rule
sets are a function of the files, so where these are equal they are too. Only where a file differs
are plugins imported and rule sets loaded, to say what the difference means.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import attrs

from tallystick.errors import InputError, LockError, RuleSetError, TallystickError, TrustError
from tallystick.io.documents import LARGEST
from tallystick.io.inputs import start_of
from tallystick.lock.installed import installed
from tallystick.lock.lock_file import Lock, LockedRuleSet
from tallystick.plugins.code import ShadowedError, text_digest

if TYPE_CHECKING:
    from tallystick.rules.model import RuleSet

NOTHING = "nothing"
"""The digest or version, in messages, of a file or package that is not there."""
NO_RULE_SET = "no rule set"
"""The digest, in messages, of a file that is no rule set."""
_HEAD = ("name", "version")
_TOLD = {
    "versions": "the version of {}",
    "plugins": "the module of the plugin {}",
    "sections": "the module of the section {}",
    "files": "the file {}",
    "state_files": "the file {}",
}
"""The parts of a lock that are compared, with the name of an item of each."""
_MEANT = {
    "formulas": "the formula {}",
    "requirements": "the requirement {}",
    "schemas": "the schema of {}",
}
"""The parts of a locked rule set that are compared, with the name of an item of each."""


@attrs.frozen
class LockDifference:
    """One thing that is not as it is locked.

    Attributes:
        what: its name.
        found: its digest or version here; ``nothing`` where it is not.
        locked: the same in the lock.
    """

    what: str
    found: str
    locked: str

    def __str__(self) -> str:
        return f"{self.what}: found {self.found}, locked {self.locked}"


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
        path: where it is; paths of rule sets are relative to its folder.
        lock: what is expected.
    """

    path: Path
    lock: Lock
    _required: set[str] = attrs.field(factory=set, init=False, eq=False, repr=False)

    def check(self) -> None:
        """Compare what is installed.

        Raises:
            LockError: something differs.
            PluginError: a file of the engine or of a plugin cannot be read.
        """
        different = tuple(self.differences())
        if different:
            raise LockError(str(self.path), different, _meaning(self.lock, self.path.parent))

    def differences(self) -> Iterator[LockDifference]:
        """Yield the differences between what is installed and the lock; see `check`."""
        lock = self.lock
        try:
            found = installed(lock.plugins, lock.sections, lock.files)
        except ShadowedError as error:
            by = f"{error.by}, which is imported in its place"
            yield LockDifference(f"the file {error.path}", by, "the file itself")
            return
        yield from _parts(_TOLD, found, lock)
        for name, rules in sorted(lock.rule_sets.items()):
            if rules.path is not None:
                what = f"the rule set {name} in {rules.path}"
                yield from _rule_set_file(what, rules, self.path.parent)

    def require(self, rules: Rules) -> None:
        """Refuse a rule set that the lock lacks.

        Raises:
            TrustError: it has none that means the same.
        """
        locked = self.lock.rule_sets
        if rules.digest not in {known.digest for known in locked.values()}:
            has = ", ".join(f"{name} {known.digest}" for name, known in sorted(locked.items()))
            raise TrustError(
                f"{self.path}: found the rule set {rules.rule_set.reference} {rules.digest}, "
                f"expected one of the lock, {has}: take one of these, or lock anew",
                code="rules-not-locked",
            )
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

    def references(self) -> list[str | Path]:
        """Return the reference by which each rule set of the lock is loaded.

        Raises:
            InputError: the file of one is not in or below the folder, or holds no rule set.
        """
        folder = self.path.parent
        return [_reference(name, rules, folder) for name, rules in self.lock.rule_sets.items()]


def _rule_set_file(what: str, rules: LockedRuleSet, folder: Path) -> Iterator[LockDifference]:
    """Compare the file of a rule set; of one that is none no digest is told."""
    data = _bytes(folder, rules)
    if data is None:
        found = NO_RULE_SET if os.path.lexists(folder / (rules.path or "")) else NOTHING
    elif (found := text_digest(data)) != rules.text and not _is_rule_set(data):
        found = NO_RULE_SET
    yield from _one(what, found, rules.text or NOTHING)


def _bytes(folder: Path, rules: LockedRuleSet) -> bytes | None:
    """Return the bytes of a rule-set file; None of what is none, or not in or below the folder."""
    try:
        path = (folder / (rules.path or "")).resolve()
        # a pipe is no file that stays, and a link may lead anywhere
        if not path.is_file() or not path.is_relative_to(folder.resolve()):
            return None
        data = start_of(path, LARGEST + 1)
    except (OSError, RuntimeError, ValueError):
        return None
    return data if len(data) <= LARGEST else None


def _is_rule_set(data: bytes) -> bool:
    from tallystick.rules.toml import parse  # where something differs

    try:
        head = parse(data.decode("utf-8"), "").data.get("rule_set")
    except (RuleSetError, UnicodeDecodeError):
        return False
    return isinstance(head, dict) and all(isinstance(head.get(key), str) for key in _HEAD)


def _parts(
    parts: Mapping[str, str], found: Lock | LockedRuleSet, locked: Lock | LockedRuleSet
) -> Iterator[LockDifference]:
    """Compare maps of digests, by their names and what an item of each is called."""
    for part, what in parts.items():
        here, there = getattr(found, part), getattr(locked, part)
        for name in sorted(here.keys() | there.keys()):
            yield from _one(what.format(name), here.get(name, NOTHING), there.get(name, NOTHING))


def _one(what: str, found: str, locked: str) -> Iterator[LockDifference]:
    if found != locked:
        yield LockDifference(what, found, locked)


def _meaning(lock: Lock, folder: Path) -> tuple[str, ...]:
    """Return the meaning of differing files: formulas and rules that changed, or that none did."""
    from tallystick.lock.write import locked_rule_set  # where something differs

    lines = list[str]()
    for name, rules in sorted(lock.rule_sets.items()):
        try:
            reference = _reference(name, rules, folder)
            lines += map(str, _of_rule_set(name, locked_rule_set(reference, folder), rules))
        except TallystickError as error:
            lines.append(f"the rule set {name} does not load: {error}")
    same = "every formula, requirement, schema and rule set means what is locked"
    return tuple(dict.fromkeys(lines)) or (same,)


def _reference(name: str, rules: LockedRuleSet, folder: Path) -> str | Path:
    if rules.path is None:
        return name
    data = _bytes(folder, rules)
    if data is None or not _is_rule_set(data):
        raise InputError(
            f"{rules.path}: found {NO_RULE_SET}, expected {name} in a file in or below the folder "
            "of the lock"
        )
    return folder / rules.path


def _of_rule_set(
    name: str, found: LockedRuleSet, locked: LockedRuleSet
) -> Iterator[LockDifference]:
    yield from _parts(_MEANT, found, locked)
    yield from _one(f"the meaning of the rule set {name}", found.digest, locked.digest)
