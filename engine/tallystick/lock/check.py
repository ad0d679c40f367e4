"""Comparison of an installation with a lock; each difference has a name.

Files are compared first, and nothing is imported for it: formulas, requirements, schemas and rule
sets are a function of the files, so where these are equal they are too. Only where a file differs
are plugins imported and rule sets loaded, to say what the difference means.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import attrs

from tallystick.errors import InputError, LockError, RuleSetError, TallystickError, TrustError
from tallystick.io.inputs import start_of
from tallystick.lock.installed import CLOSURES, installed
from tallystick.lock.lock_file import Lock, LockedRuleSet
from tallystick.plugins.code import STATE, ShadowedError, text_digest

NOTHING = "nothing"
"""The digest or version, in messages, of a file or package that is not there."""
NO_RULE_SET = "no rule set"
"""The digest, in messages, of a file that is no rule set."""
_HEAD = ("name", "version")


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


def check(lock: Lock, path: Path, closures: Collection[str] = CLOSURES) -> None:
    """Compare what is installed with a lock.

    Args:
        lock: what is expected.
        path: where it was read; paths of rule sets are relative to its folder.
        closures: what is compared; `SCORING` alone leaves out what only a state needs.

    Raises:
        LockError: something differs.
        PluginError: a file of the engine or of a plugin cannot be read.
    """
    different = tuple(differences(lock, path.parent, closures))
    if different:
        raise LockError(str(path), different, _meaning(lock, path.parent))


def differences(
    lock: Lock, folder: Path, closures: Collection[str] = CLOSURES
) -> Iterator[LockDifference]:
    """Yield the differences between what is installed and a lock; see `check`."""
    try:
        found = installed(lock.plugins, lock.sections, lock.files, closures)
    except ShadowedError as error:
        by = f"{error.by}, which is imported in its place"
        yield LockDifference(f"the file {error.path}", by, "the file itself")
        return
    yield from _pairs("the version of {}", found.versions, lock.versions)
    yield from _pairs("the module of the plugin {}", found.plugins, lock.plugins)
    yield from _pairs("the module of the section {}", found.sections, lock.sections)
    yield from _pairs("the file {}", found.files, lock.files)
    if STATE in closures:
        yield from _pairs("the file {}", found.state_files, lock.state_files)
    for name, rules in sorted(lock.rule_sets.items()):
        if rules.path is not None:
            yield from _rule_set_file(f"the rule set {name} in {rules.path}", rules, folder)


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
    from tallystick.rules.reading import LARGEST  # where there is such a file

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


def require(lock: Lock, path: Path, reference: str, digest: str) -> None:
    """Refuse a rule set that is not in the lock.

    Raises:
        TrustError: it has none that means the same.
    """
    if digest not in {rules.digest for rules in lock.rule_sets.values()}:
        has = ", ".join(f"{name} {rules.digest}" for name, rules in sorted(lock.rule_sets.items()))
        raise TrustError(
            f"{path}: found the rule set {reference} {digest}, expected one of the lock, {has}: "
            "take one of these, or lock anew",
            code="rules-not-locked",
        )


def _pairs(
    what: str, found: Mapping[str, str], locked: Mapping[str, str]
) -> Iterator[LockDifference]:
    for name in sorted(found.keys() | locked.keys()):
        here, there = found.get(name, NOTHING), locked.get(name, NOTHING)
        yield from _one(what.format(name), here, there)


def _one(what: str, found: str, locked: str) -> Iterator[LockDifference]:
    if found != locked:
        yield LockDifference(what, found, locked)


def _meaning(lock: Lock, folder: Path) -> tuple[str, ...]:
    """Return the meaning of differing files: formulas and rules that changed, or that none did."""
    from tallystick.lock.write import locked_rule_set  # where something differs

    lines = list[str]()
    for name, rules in sorted(lock.rule_sets.items()):
        try:
            reference = reference_of(name, rules, folder)
            lines += map(str, _of_rule_set(name, locked_rule_set(reference, folder), rules))
        except TallystickError as error:
            lines.append(f"the rule set {name} does not load: {error}")
    same = "every formula, requirement, schema and rule set means what is locked"
    return tuple(dict.fromkeys(lines)) or (same,)


def reference_of(name: str, rules: LockedRuleSet, folder: Path) -> str | Path:
    """Return the reference by which a rule set of a lock in a folder is loaded.

    Raises:
        InputError: its file is not in or below the folder, or holds no rule set.
    """
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
    for kind in ("formulas", "requirements", "schemas"):
        what = "the schema of {}" if kind == "schemas" else f"the {kind[:-1]} {{}}"
        yield from _pairs(what, getattr(found, kind), getattr(locked, kind))
    yield from _one(f"the meaning of the rule set {name}", found.digest, locked.digest)
