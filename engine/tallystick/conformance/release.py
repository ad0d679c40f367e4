"""Released formulas: what was published under a name never changes.

``released.json`` lies beside the module of a plugin::

    {"formulas": {"name@1": "sha256:…"}}

It has the digest of every formula that was released, in name order. No line of it changes or goes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from tallystick.canonical import PREFIX
from tallystick.conformance.codes import finding, finding_in
from tallystick.conformance.subject import Subject
from tallystick.diagnostics import Diagnostic
from tallystick.errors import OutputError, PluginError

FILE = "released.json"
_FORMULAS = "formulas"


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Every formula is recorded, and none that was recorded has changed or is gone."""
    file = subject.folder / FILE
    try:
        released = read(file)
    except PluginError as error:
        yield finding_in("record-unreadable", file, str(error))
        return
    found = {formula.name: formula.digest for formula in subject.plugin.formulas}
    for name, digest in found.items():
        if name not in released:
            message = f"found no digest of it in {FILE}, expected {digest}"
            yield finding("formula-unrecorded", name, message)
        elif released[name] != digest:
            message = f"found {digest}, expected {released[name]}, as {FILE} says"
            yield finding("formula-changed", name, message)
    for name in sorted(released.keys() - found.keys()):
        yield finding("formula-gone", name, f"found no such formula, expected it, as {FILE} says")


def read(file: Path) -> Mapping[str, str]:
    """The digest of each released formula by its name; none where there is no file.

    Raises:
        PluginError: the file cannot be read.
    """
    return _formulas(_read(file), file)


def record(folder: Path, digests: Mapping[str, str]) -> tuple[str, ...]:
    """Add the formulas that are new; those that are there stay as they are.

    Args:
        folder: where the module of the plugin is.
        digests: of every formula of the plugin, by name.

    Returns:
        The names that were added.

    Raises:
        PluginError: the file is there but cannot be read.
        OutputError: it cannot be written.
    """
    file = folder / FILE
    document = dict(_read(file))
    released = _formulas(document, file)
    every = {**digests, **released}
    added = tuple(sorted(every.keys() - released.keys()))
    if added:
        document[_FORMULAS] = dict(sorted(every.items()))
        _write(file, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    return added


def _read(file: Path) -> Mapping[str, object]:
    try:
        document = json.loads(file.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise PluginError(f"{file}: cannot be read: {error}") from error
    if not isinstance(document, dict):
        raise PluginError(f"{file}: found {type(document).__name__}, expected a JSON object")
    return document


def _formulas(document: Mapping[str, object], file: Path) -> dict[str, str]:
    found = document.get(_FORMULAS, {})
    if not isinstance(found, dict) or not all(_is_digest(value) for value in found.values()):
        raise PluginError(f'{file}: found no digests by name under "{_FORMULAS}", expected them')
    return found


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and value.startswith(PREFIX)


def _write(file: Path, text: str) -> None:
    """Replace the file at once, so that nothing is ever half-written."""
    new = file.with_name(f".{file.name}.new")
    try:
        new.write_text(text, encoding="utf-8")
        new.replace(file)
    except OSError as error:
        new.unlink(missing_ok=True)
        reason = (error.strerror or str(error)).lower()
        raise OutputError(f"{file}: cannot be written ({reason})") from error
