"""Loading a plugin for its checks: its import, its hooks, its names."""

from __future__ import annotations

import re
import sys
import traceback
from pathlib import Path

import attrs

from tallystick.conformance.codes import finding
from tallystick.conformance.footprint import footprint
from tallystick.conformance.rule_sets import scorers_of
from tallystick.conformance.subject import Subject
from tallystick.conformance.target import Target
from tallystick.diagnostics import Diagnostic
from tallystick.errors import FormulaError
from tallystick.plugins.registry import (
    RefusedPluginError,
    allowed_names,
    joined,
    load,
    registry,
)

_NUMBER = re.compile(r"found (.+) in a formula, expected an int")
_NOT_FLOAT = "a formula is not a float"
_ENGINE = Path(__file__).resolve().parents[1]


def load_subject(target: Target) -> Subject | Diagnostic:
    """The plugin ready to be checked, or why it cannot be used at all."""
    try:
        with footprint() as touched:
            plugin = load(target.entry)
        plugin = attrs.evolve(plugin, distribution=target.distribution, version=target.version)
        every = joined(registry(target.others, allowed_names()), plugin)
    except RefusedPluginError as error:
        return _refusal(target, error)
    scorers = scorers_of(plugin, every)
    return Subject(plugin, every, _folder(target), scorers, tuple(touched))


def _folder(target: Target) -> Path:
    file = getattr(sys.modules.get(target.entry.module), "__file__", None)
    return Path(file).parent if file else Path.cwd()


def _refusal(target: Target, error: RefusedPluginError) -> Diagnostic:
    cause = error.__cause__
    code = "float-in-formula" if _is_float(cause) else error.code
    return finding(code, _place(cause) or target.entry.value or target.name, str(error))


def _is_float(cause: BaseException | None) -> bool:
    """Whether a formula could not be built because of a float."""
    if not isinstance(cause, FormulaError):
        return False
    found = _NUMBER.match(str(cause))
    if found is None:
        return str(cause).startswith(_NOT_FLOAT)
    try:
        float(re.sub(r"^np\.float\d+\((.*)\)$", r"\1", found[1]))
    except ValueError:
        return False
    return True


def _place(cause: BaseException | None) -> str:
    """The last line of code outside the engine and the standard library that had a part in it."""
    if isinstance(cause, SyntaxError) and cause.filename:
        return f"{cause.filename}:{cause.lineno}"
    frames = traceback.extract_tb(cause.__traceback__) if cause else []
    own = [frame for frame in frames if not _is_machinery(frame.filename)]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else ""


def _is_machinery(filename: str) -> bool:
    library = Path(traceback.__file__).parent
    path = Path(filename)
    return filename.startswith("<") or any(
        path.is_relative_to(folder) and "site-packages" not in path.relative_to(folder).parts
        for folder in (_ENGINE, library)
    )
