"""Exports: what a subnet publishes of itself, read so that its weights can be derived again.

A plugin that knows the files of its subnet offers a format by an entry point of the group `GROUP`,
called as the format is; ``tallystick audit folder --format`` reads a folder by it, scores its
records, derives the weights, and holds them against those that were set.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, TypeVar

import attrs

from tallystick.errors import InputError, RecordError
from tallystick.json_values import JsonKey, json_object, json_value
from tallystick.numbers.nano import NANO, publish
from tallystick.plugins.entries import Extensions, RefusedPluginError, of_kind
from tallystick.plugins.generator import Part
from tallystick.plugins.registry import namespace
from tallystick.plugins.values import is_function, of_type, tuple_of
from tallystick.scoring.result import Result
from tallystick.scoring.scorer import Scorer
from tallystick_allocation.allocation import allocate
from tallystick_state.audit.results_audit import DIFFERS, EQUAL, WITHIN, decimal, exact_of

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

    name: str = attrs.field(validator=of_type(str))
    by: str = attrs.field(validator=of_type(str))
    stated: str = attrs.field(validator=of_type(str))
    found: str = attrs.field(validator=of_type(str))


@attrs.frozen(eq=False)
class Export:
    """The content of the files of an export, without anything personal.

    Attributes:
        records: as they are scored; read once.
        round: the file of the round: ``format``, ``round`` and ``miners`` with their attributes.
        published: the weights that were set, by hotkey, in any unit that all of them share.
        digests: what the files state of each other.
        dropped: how many rows were left out, by why.
    """

    records: Iterable[Part]
    round: Part = attrs.field(validator=of_type(Mapping))
    published: Mapping[str, Decimal] = attrs.field(validator=of_type(Mapping))
    digests: Sequence[StatedDigest] = attrs.field(default=(), validator=tuple_of(StatedDigest))
    dropped: Mapping[str, int] = attrs.field(factory=dict, validator=of_type(Mapping))


@attrs.frozen(eq=False)
class ExportFormat:
    """A format of exports.

    Attributes:
        name: ``plugin/name``, that of its entry point.
        summary: one line for people.
        read: what the files in a folder come to; whatever it raises is told as a fault of them.
        unproved: what does not follow where the weights are equal, each a sentence for people.
    """

    name: str = attrs.field(validator=of_type(str))
    summary: str = attrs.field(validator=of_type(str))
    read: Callable[[Path], Export] = attrs.field(validator=is_function)
    unproved: tuple[str, ...] = attrs.field(default=(), validator=tuple_of(str))


def installed_formats() -> Extensions[ExportFormat]:
    """Return the formats of the installed distributions; each is imported when it is named."""
    return Extensions.installed(GROUP, of_kind(ExportFormat, _refuse_other_name))


def _refuse_other_name(entry: EntryPoint, form: ExportFormat) -> None:
    if form.name != entry.name:
        raise RefusedPluginError(
            "foreign-name",
            f"found the name {form.name!r} at {entry.value}, expected that of its entry point: "
            "rename one",
        )


_Read = TypeVar("_Read")

_FILES = "these files are the ones that {by} states, by digest"
_OTHERS = "{name} is not the file that {by} states: its digest is another"
_BYTES = "whoever has these files derives these weights from them by these rules, digit for digit"
_SET = "the weights that were set are the derived ones, to nine places"
_NEAR = "the weights that were set are within the tolerance of the derived ones"


def _weights_value(weights: Mapping[str, int]) -> dict[str, str]:
    return {hotkey: decimal(Fraction(nano, NANO)) for hotkey, nano in weights.items()}


@json_object(
    "hotkey",
    JsonKey("derived", form=lambda nano: decimal(Fraction(nano, NANO))),
    JsonKey("found", form=decimal),
    JsonKey("distance", form=decimal),
)
@attrs.frozen
class WeightDifference:
    """A weight that was set, and the derived one.

    Attributes:
        hotkey: whose weight.
        found: the share that was set; 0 where nothing was.
        derived: what follows from the records, in nano.
        distance: how far they are apart.
    """

    hotkey: str
    found: Fraction
    derived: int
    distance: Fraction


@json_object(
    *("verdict", "rule_set", "digest", "format", "scored", "left_out", "dropped", "digests"),
    JsonKey("weights", form=_weights_value),
    *("equal", JsonKey("largest", form=decimal), JsonKey("total", form=decimal), "first"),
    *("proved", "unproved"),
)
@attrs.frozen
class ExportAudit:
    """The result of an audit of an export.

    Attributes:
        verdict: ``equal``, ``within-tolerance`` or ``differs``.
        rule_set: by which records were scored.
        digest: of it.
        format: the name of the format.
        scored: how many records were scored.
        left_out: how many the rules leave out, by code.
        dropped: how many rows the format leaves out, by why.
        digests: what the files state of each other.
        weights: the derived weights, in nano, by hotkey.
        equal: how many weights are the derived ones to nine places.
        largest: the largest distance.
        total: the sum of all distances.
        first: the weight that is farthest off; None where none is.
        proved: what follows, in sentences.
        unproved: what does not.
    """

    verdict: str
    rule_set: str
    digest: str
    format: str
    scored: int
    left_out: Mapping[str, int]
    dropped: Mapping[str, int]
    digests: tuple[StatedDigest, ...]
    weights: Mapping[str, int]
    equal: int
    largest: Fraction
    total: Fraction
    first: WeightDifference | None
    proved: tuple[str, ...]
    unproved: tuple[str, ...]


def format_named(name: str, formats: Extensions[ExportFormat]) -> ExportFormat:
    """Return the format of a name, which begins with that of its plugin.

    Raises:
        InputError: no distribution in use offers it.
    """
    try:
        return formats.value(name)
    except KeyError:
        reason = "no installed plugin offers it"
    except RefusedPluginError as error:
        reason = f"it is refused: {error}"
    beside = (other for other in formats.names() if namespace(other) == namespace(name) != "")
    names = ", ".join(other for other in beside if other != name)
    raise InputError(
        f"found the format {name!r}, but {reason}"
        + (f", expected one of {names}" if names else ": tallystick plugins list shows formats")
    )


def audit_export(
    scorer: Scorer, form: ExportFormat, folder: Path, *, tolerance: Fraction = Fraction(0)
) -> ExportAudit:
    """Derive the weights of an export, and hold them against those that were set.

    Raises:
        InputError: the files cannot be read by the format.
        AllocationError: no weights follow from them.
    """
    export = _reading(form, folder, lambda: form.read(folder))
    left_out = Counter[str]()
    results = _reading(form, folder, lambda: [*_scored(scorer, export, left_out)])
    published = _reading(form, folder, lambda: _shares(export.published))
    rows = (json_value(result) for result in results)
    weights = allocate(scorer, rows, round=export.round).weights
    differences = [*_differences(weights, published)]
    # a digest that is not the stated one is a difference whatever the weights are
    other = [item for item in export.digests if item.stated != item.found]
    first = max(differences, key=lambda item: item.distance, default=None)
    largest = Fraction(0) if first is None else first.distance
    verdict = DIFFERS if other or largest > tolerance else WITHIN if differences else EQUAL
    hotkeys = {*weights, *published}
    return ExportAudit(
        verdict=verdict,
        rule_set=scorer.rule_set.reference,
        digest=scorer.digest,
        format=form.name,
        scored=len(results),
        left_out=dict(sorted(left_out.items())),
        dropped={name: times for name, times in export.dropped.items() if times},
        digests=tuple(export.digests),
        weights=weights,
        equal=len(hotkeys) - len(differences),
        largest=largest,
        total=sum((item.distance for item in differences), Fraction(0)),
        first=first,
        proved=tuple(_proved(export, verdict)),
        unproved=form.unproved,
    )


def _reading(form: ExportFormat, folder: Path, read: Callable[[], _Read]) -> _Read:
    """Call a plugin's reader of files; whatever it raises is a fault of the files."""
    try:
        return read()
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        problem = f"{type(error).__name__}: {error}"
        raise InputError(f"{folder}: found no export of {form.name} ({problem})") from error


def _scored(scorer: Scorer, export: Export, left_out: Counter[str]) -> Iterator[Result]:
    """Yield the results of the records; those that the rules leave out are counted."""
    for number, record in enumerate(export.records, 1):
        try:
            yield scorer.score(record, line=number)
        except RecordError as error:
            left_out[error.code] += 1


def _shares(published: Mapping[Any, Decimal]) -> dict[str, Fraction]:
    """Return the weights that were set, as shares of all."""
    weights = {}
    for hotkey, value in published.items():
        weight = exact_of(value)
        if not isinstance(hotkey, str) or weight is None or weight < 0:
            raise ValueError(
                f"found the weight {value!s:.40} of {hotkey}, expected 0 or more, of a hotkey"
            )
        weights[hotkey] = weight
    total = sum(weights.values(), Fraction(0)) or 1
    return {hotkey: weight / total for hotkey, weight in weights.items()}


def _differences(
    weights: Mapping[str, int], published: Mapping[str, Fraction]
) -> Iterator[WeightDifference]:
    """Yield the weights that were set and are not the derived ones to nine places."""
    for hotkey in sorted({*weights, *published}):
        share, derived = published.get(hotkey, Fraction(0)), weights.get(hotkey, 0)
        if publish(share) != derived:
            distance = abs(share - Fraction(derived, NANO))
            yield WeightDifference(hotkey, share, derived, distance)


def _proved(export: Export, verdict: str) -> Iterator[str]:
    other = [digest for digest in export.digests if digest.stated != digest.found]
    for digest in other:
        yield _OTHERS.format(name=digest.name, by=digest.by)
    if export.digests and not other:
        yield _FILES.format(by=", ".join(dict.fromkeys(digest.by for digest in export.digests)))
    yield _BYTES
    if verdict != DIFFERS:
        yield _SET if verdict == EQUAL else _NEAR
