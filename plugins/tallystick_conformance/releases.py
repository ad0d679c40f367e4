"""The formulas of a plugin as they were released.

``released.json`` lies beside the module of a plugin::

    {
      "formulas": {"name@1": "sha256:…"},
      "recorded": {"name@1": {"version": "0.1.0", "text": ["x = …"], "values": {…}}}
    }

It has the digest of every formula that was released, in name order. No line of it changes or goes.
Beside it stands what the formula said when it was recorded, so that a change can be shown, and the
version that the project had. As long as the project has that version, it was not published with the
formula: no two publications have one version. So the formula is not yet released, and may be
recorded again. One without a version was released. ``values`` has a few records with the integer
that each opaque fact took of them, as code can change where no source of the plugin does.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypedDict

import attrs
import msgspec

from tallystick.canonical import PREFIX
from tallystick.diagnostics import Diagnostic
from tallystick.errors import PluginError
from tallystick.formula.formula import Formula
from tallystick.formula.text import lines
from tallystick.io.atomic import atomic_files
from tallystick.io.documents import read_json
from tallystick.io.text import json_text
from tallystick.json_values import JsonObject
from tallystick_conformance.loading import Subject
from tallystick_conformance.report import finding, finding_in

RELEASED = "released.json"
"""The file with the digest of each formula that was released."""
_FORMULAS, _RECORDED = "formulas", "recorded"


class FactValue(TypedDict):
    """A record, and the integer that a fact takes of it."""

    record: JsonObject
    value: int


FactValues = Mapping[str, Sequence[FactValue]]
"""Records with the integer that a fact takes of each, by the name of the fact."""


class _Entry(TypedDict, total=False):
    """A formula under ``recorded``, beside its digest."""

    version: str | None
    text: list[str]
    values: dict[str, list[FactValue]]


@attrs.frozen
class Recorded:
    """A formula as it was recorded.

    Attributes:
        digest: of the formula.
        text: what it said, line by line; empty where that was not recorded.
        version: of the project at that time; None where it was released before.
        values: records with their integers, by the name of each opaque fact.
    """

    digest: str
    text: tuple[str, ...] = ()
    version: str | None = None
    values: FactValues = attrs.field(factory=dict)

    def is_unreleased(self, version: str) -> bool:
        """Return whether it was recorded under the version that the project still has."""
        return bool(version) and self.version == version


def as_recorded(formula: Formula) -> Recorded:
    """Return the entry of a formula in ``released.json``."""
    return Recorded(formula.digest, tuple(lines(formula.symbol or formula.name, formula.tree)))


def check_releases(subject: Subject) -> Iterator[Diagnostic]:
    """Yield every formula is recorded, and none that was recorded has changed or is gone."""
    file = subject.folder / RELEASED
    try:
        released = released_in(file)
    except PluginError as error:
        yield finding_in("record-unreadable", file, str(error))
        return
    formulas = {formula.name: formula for formula in subject.plugin.formulas}
    for name, formula in formulas.items():
        if name not in released:
            message = f"found no digest of it in {RELEASED}, expected {formula.digest}"
            yield finding("formula-unrecorded", name, message)
        elif released[name].digest != formula.digest:
            yield _changed(released[name], formula)
    for name in sorted(released.keys() - formulas.keys()):
        yield finding(
            "formula-gone", name, f"found no such formula, expected it, as {RELEASED} says"
        )


def _changed(before: Recorded, formula: Formula) -> Diagnostic:
    message = f"found {formula.digest}, expected {before.digest}, as {RELEASED} says"
    old, new = before.text, as_recorded(formula).text
    # a formula can change in what its text does not show, such as the source of an opaque fact
    evidence = {"difference": _difference(old, new)} if old and old != new else {}
    return finding("formula-changed", formula.name, message, evidence)


def _difference(old: Collection[str], new: Collection[str]) -> list[str]:
    """The lines of both, those that are gone after a minus, those that are new after a plus."""
    lines = difflib.ndiff([*old], [*new])
    return [line for line in lines if not line.startswith("?")]


def released_in(file: Path) -> Mapping[str, Recorded]:
    """Return each recorded formula by its name, in name order; none where there is no file.

    Raises:
        PluginError: the file cannot be read.
    """
    return _recorded(_read(file), file)


def record_releases(
    folder: Path, formulas: Mapping[str, Recorded], version: str, *, reset: bool = False
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Add the formulas that are new; those that are there stay as they are.

    Args:
        folder: where the module of the plugin is.
        formulas: every formula of the plugin, by name.
        version: of the project; empty where it does not say it.
        reset: whether those that were not released are recorded anew, or taken away.

    Returns:
        The names that were added or changed, and those that were removed.

    Raises:
        PluginError: the file is there but cannot be read.
        OutputError: it cannot be written.
    """
    file = folder / RELEASED
    document = _read(file)
    before = _recorded(document, file)
    every = {n: e for n, e in before.items() if not (reset and e.is_unreleased(version))}
    for name, formula in formulas.items():
        recorded = every.get(name)
        if recorded is None:
            every[name] = attrs.evolve(formula, version=version or None)
        elif recorded.digest == formula.digest:
            every[name] = attrs.evolve(
                recorded,
                text=recorded.text or formula.text,
                values=recorded.values or formula.values,
            )
    _write(file, document, before, every)
    new = (n for n, entry in every.items() if n not in before or before[n].digest != entry.digest)
    return tuple(sorted(new)), tuple(sorted(before.keys() - every.keys()))


def _read(file: Path) -> JsonObject:
    try:
        document = read_json(file)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise PluginError(f"{file}: cannot be read: {error}") from error
    if not isinstance(document, dict):
        raise PluginError(f"{file}: found {type(document).__name__}, expected a JSON object")
    return document


def _recorded(document: JsonObject, file: Path) -> dict[str, Recorded]:
    digests = document.get(_FORMULAS, {})
    if not isinstance(digests, dict) or not all(map(_is_digest, digests.values())):
        raise PluginError(f'{file}: found no digests by name under "{_FORMULAS}", expected them')
    try:
        entries = msgspec.convert(document.get(_RECORDED, {}), dict[str, _Entry])
    except msgspec.ValidationError as error:
        raise PluginError(
            f'{file}: found something else under "{_RECORDED}" than a version and lines of text '
            "by name, expected that"
        ) from error
    return {name: _one(digests[name], entries.get(name, {})) for name in sorted(digests)}


def _one(digest: str, entry: _Entry) -> Recorded:
    text = tuple(entry.get("text", ()))
    return Recorded(digest, text, entry.get("version"), entry.get("values", {}))


def _write(
    file: Path, document: JsonObject, before: Mapping[str, Recorded], every: Mapping[str, Recorded]
) -> None:
    """Write the file if something has changed; what else it holds is kept."""
    if before == every:
        return
    named = dict(sorted(every.items()))
    document[_FORMULAS] = {name: entry.digest for name, entry in named.items()}
    document[_RECORDED] = {
        name: ({"version": entry.version} if entry.version else {})
        | {"text": [*entry.text]}
        | ({"values": dict(sorted(entry.values.items()))} if entry.values else {})
        for name, entry in named.items()
        if entry.text
    }
    with atomic_files(file) as (new,):
        new.write((json_text(document, indent=2) + "\n").encode())


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and value.startswith(PREFIX)
