"""Adoptions: rule sets that an operator schedules by a file, as ``tallystick state adopt`` does.

A file of the folder, such as ``adoptions/skills-1.2.toml``, names a rule set and the epoch that
begins under it. It stays there: what is scheduled already is left as it is, so that the same files
on the machines of all validators lead to the same rules, whenever each of them got there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from tallystick.errors import InputError, TallystickError
from tallystick.io.text import visible
from tallystick.rules.toml_source import TomlSource
from tallystick_service.health import Problem
from tallystick_state.authority import Authority, read_authority
from tallystick_state.rules import StateRules
from tallystick_validator.health import problem_of

if TYPE_CHECKING:
    from tallystick_state.ledger import Ledger

SUFFIX = ".toml"
"""End of the names of files that are read."""


@attrs.frozen
class ScheduledRules:
    """A rule set that is to be adopted.

    Attributes:
        file: which says so.
        rules: its reference: a path, or a name of an installed rule set.
        epoch: the first epoch under it.
        major: whether it may take away what others name.
        signed: the file with the signed statement; None where the operator decides alone.
        block: the block that the statement is stated with.
        gate_receipt: the file with the receipt of a gate; None without.
    """

    file: Path
    rules: str | Path
    epoch: int
    major: bool = False
    signed: Path | None = None
    block: int | None = None
    gate_receipt: Path | None = None

    @classmethod
    def read(cls, file: Path) -> ScheduledRules:
        """Return what a file says.

        Raises:
            InputError: it cannot be read, or says something else.
        """
        source = TomlSource.read(file, "an adoption")
        source.check("validator-adoption-1")
        table = source.tables["adoption"]
        named, signed = table["rules"], table.get("signed")
        receipt = table.get("gate_receipt")
        # as in a configuration, a path is one by its form
        rules = file.parent / named if named.endswith(SUFFIX) or "/" in named else named
        return cls(
            file,
            rules,
            table["at_epoch"],
            table.get("major", False),
            None if signed is None else file.parent / signed,
            table.get("block"),
            None if receipt is None else file.parent / receipt,
        )

    def authority(self) -> Authority:
        """Return what stands behind the adoption.

        Raises:
            InputError: the file with the statement, or with the receipt, cannot be read.
            TrustError: it has none.
        """
        return read_authority(self.signed, self.block, self.gate_receipt)


class AdoptionFolder:
    """The files of a folder, applied to a state once each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._done: dict[Path, tuple[int, int]] = {}

    def apply(self, ledger: Ledger) -> tuple[Problem, ...]:
        """Schedule the rules of all files that are new or have changed; tell what is refused.

        Raises:
            StoreError: the state cannot be written.
        """
        problems = list[Problem]()
        for file in self._files():
            try:
                stamp = file.stat()
                mark = stamp.st_mtime_ns, stamp.st_size
                if self._done.get(file) == mark:
                    continue
                problem = _applied(ledger, ScheduledRules.read(file))
            except (OSError, TallystickError) as error:
                problem = problem_of("adoption-refused", visible(f"{file.name}: {error}"))
            if problem is None:
                self._done[file] = mark
            else:
                problems.append(problem)
        return tuple(problems)

    def _files(self) -> Iterator[Path]:
        """Return the files, by name.

        Raises:
            InputError: the folder cannot be read.
        """
        try:
            paths = sorted(self.folder.iterdir())
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(f"{self.folder}: the folder cannot be read ({reason})") from error
        return (path for path in paths if path.suffix == SUFFIX and not path.name.startswith("."))


def _applied(ledger: Ledger, scheduled: ScheduledRules) -> Problem | None:
    """Schedule rules, unless they are; give the problem of those that come too late.

    Raises:
        TallystickError: the state does not allow it.
    """
    from tallystick.rules.loading import load  # where there is such a file

    in_force = ledger.in_force
    rules = StateRules.of(load(scheduled.rules, in_force.plugins))
    timeline = in_force.lines.get(rules.line)
    if timeline is not None and timeline.at(scheduled.epoch).digest == rules.digest:
        return None
    if scheduled.epoch <= ledger.open_epoch():
        return problem_of(
            "adoption-late",
            f"{scheduled.file.name}: found that epoch {scheduled.epoch} has begun under other "
            f"rules of {rules.line}, expected {rules.digest}",
            failing=True,
        )
    authority = scheduled.authority()
    ledger.adopt(scheduled.rules, scheduled.epoch, major=scheduled.major, authority=authority)
    return None
