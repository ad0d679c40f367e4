"""Adoptions: rule sets that an operator schedules by a file, as ``tallystick state adopt`` does.

A file of the folder, such as ``adoptions/skills-1.2.toml``, names a rule set and the epoch that
begins under it. It stays there: what is scheduled already is left as it is, so that the same files
on the machines of all validators lead to the same rules, whenever each of them got there.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tallystick.errors import TallystickError
from tallystick.io.text import visible
from tallystick.rules.toml_source import check_source, read_source
from tallystick_service.health import Problem
from tallystick_state.authority import read_authority
from tallystick_state.rules import StateRules
from tallystick_validator.health import problem_of
from tallystick_validator.sources import names_in

if TYPE_CHECKING:
    from tallystick_state.ledger import Ledger

SUFFIX = ".toml"
"""End of the names of files that are read."""


class AdoptionFolder:
    """The files of a folder, applied to a state once each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._done: dict[Path, tuple[int, int]] = {}

    def apply(self, ledger: Ledger) -> tuple[Problem, ...]:
        """Schedule the rules of all files that are new or have changed; tell what is refused.

        Raises:
            InputError: the folder cannot be read.
            StoreError: the state cannot be written.
        """
        problems = list[Problem]()
        for name in names_in(self.folder, SUFFIX):
            file = self.folder / name
            try:
                stamp = file.stat()
                mark = stamp.st_mtime_ns, stamp.st_size
                if self._done.get(file) == mark:
                    continue
                problem = _applied(ledger, file)
            except (OSError, TallystickError) as error:
                problem = problem_of("adoption-refused", visible(f"{name}: {error}"))
            if problem is None:
                self._done[file] = mark
            else:
                problems.append(problem)
        return tuple(problems)


def _applied(ledger: Ledger, file: Path) -> Problem | None:
    """Schedule the rules of a file, unless they are; give the problem of those that come too late.

    Raises:
        InputError: the file, or one that it names, cannot be read, or says something else.
        TallystickError: the state does not allow it.
    """
    from tallystick.rules.loading import load  # where there is such a file

    source = read_source(file, "an adoption")
    check_source(source, "validator-adoption-1")
    table = source.data["adoption"]
    named, epoch = table["rules"], table["at_epoch"]
    # as in a configuration, a path is one by its form
    reference = file.parent / named if named.endswith(SUFFIX) or "/" in named else named
    in_force = ledger.in_force
    rules = StateRules(load(reference, in_force.plugins))
    timeline = in_force.lines.get(rules.line)
    if timeline is not None and timeline.at(epoch).digest == rules.digest:
        return None
    if epoch <= ledger.open_epoch():
        return problem_of(
            "adoption-late",
            f"{file.name}: found that epoch {epoch} has begun under other rules of {rules.line}, "
            f"expected {rules.digest}",
            failing=True,
        )
    signed, receipt = (
        file.parent / table[key] if key in table else None for key in ("signed", "gate_receipt")
    )
    authority = read_authority(signed, table.get("block"), receipt)
    ledger.adopt(reference, epoch, major=table.get("major", False), authority=authority)
    return None
