"""Exports: what a subnet publishes of itself, read so that its weights can be derived again.

A plugin that knows the files of its subnet offers a format by an entry point of the group `GROUP`,
called as the format is; ``tallystick audit --export`` reads a folder by it, scores its records,
derives the weights, and holds them against those that were set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from importlib.metadata import EntryPoint
from pathlib import Path

import attrs

from tallystick.plugins.entries import Extensions, RefusedPluginError
from tallystick.plugins.generator import Part

GROUP = "tallystick.exports"
"""The entry-point group of formats of exports."""


@attrs.frozen
class StatedDigest:
    """A file whose digest another file, or a chain, states.

    Attributes:
        name: of the file.
        by: what states it.
        stated: the digest that it should have.
        found: the digest that it has.
    """

    name: str
    by: str
    stated: str
    found: str


@attrs.frozen(eq=False)
class Export:
    """What the files of an export come to; nothing that is personal is kept.

    Attributes:
        records: as they are scored; read once.
        round: the file of the round: ``format``, ``round`` and ``miners`` with their attributes.
        published: the weights that were set, by hotkey, in any unit that all of them share.
        digests: what the files state of each other.
        dropped: how many rows were left out, by why.
    """

    records: Iterable[Part]
    round: Part
    published: Mapping[str, Decimal]
    digests: Sequence[StatedDigest] = ()
    dropped: Mapping[str, int] = attrs.field(factory=dict)


@attrs.frozen(eq=False)
class ExportFormat:
    """A format of exports.

    Attributes:
        name: ``plugin/name``, that of its entry point.
        summary: one line for people.
        read: what the files in a folder come to; whatever it raises is told as a fault of them.
        unproved: what does not follow where the weights are equal, each a sentence for people.
    """

    name: str
    summary: str
    read: Callable[[Path], Export]
    unproved: tuple[str, ...] = ()


def installed_formats() -> Extensions[ExportFormat]:
    """Return the formats of the installed distributions; each is imported when it is named."""
    return Extensions.installed(GROUP, ExportFormat, _refuse_other_name)


def _refuse_other_name(entry: EntryPoint, form: ExportFormat) -> None:
    if form.name != entry.name:
        raise RefusedPluginError(
            "foreign-name",
            f"found the name {form.name!r} at {entry.value}, expected that of its entry point: "
            "rename one",
        )
