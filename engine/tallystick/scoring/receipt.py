"""The receipt of a run: what was made with what, so that anyone can do it again and compare.

A run writes three files: its output, the records that it rejected, and its receipt.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, Protocol

import attrs

from tallystick.errors import OutputError
from tallystick.io.atomic import (
    OutputFile,
    atomic_files,
    output_errors,
    output_path,
    output_place,
)
from tallystick.io.paths import PathLike, path_of, receipt_beside
from tallystick.io.sources import Source
from tallystick.io.streams import (
    STANDARD,
    is_stream,
    nowhere,
    standard_error,
    standard_output,
)
from tallystick.io.text import json_text
from tallystick.json_values import JsonObject, constant, json_fields, json_value
from tallystick.numbers.text import repr_as
from tallystick.plugins.code import Code
from tallystick.plugins.registry import Registry
from tallystick.records.defects import DefectLog, defects_of
from tallystick.records.rejects import Reject
from tallystick.scoring.bound_rules import BoundRules

Progress = Callable[[int, int], None]
"""Told after every chunk how many bytes of how many were read."""


class Writer(Protocol):
    """Takes tables, encoded for it, then is closed or abandoned; the file itself stays open."""

    def append(self, data: Any) -> None:  # noqa: ANN401  # as the format encodes a table
        """Append a table."""

    def close(self) -> None:
        """Write the end of the format."""

    def abandon(self) -> None:
        """Let go of a file that is thrown away."""


@attrs.frozen
class Part:
    """The part of a run's files that a chunk adds.

    Attributes:
        output: encoded for the writer of the output.
        rejects: the rejected records.
        counts: how many records there were.
        snapshots: the epochs of records whose snapshots were pinned.
    """

    output: Any
    rejects: tuple[Reject, ...]
    counts: Counts
    snapshots: frozenset[int] = frozenset()


@attrs.frozen
class RunFiles:
    """The files of a run while it goes on.

    Attributes:
        source: what is read.
        target: the name that was given to what it makes.
        output: what it makes.
        rejects: the rejected records, one JSON object a line.
        receipt: the receipt.
        progress: told how far it is.
    """

    source: Path
    target: Path
    output: OutputFile
    rejects: OutputFile
    receipt: OutputFile
    progress: Progress | None

    def write(
        self,
        parts: Generator[Part, None, None],
        begin: Callable[[IO[bytes]], Writer],
        records: Source,
    ) -> tuple[Counts, set[int]]:
        """Write every part as it comes; return the counts and the snapshots of all.

        Args:
            parts: in the order of their records; closed at the end, with which workers end.
            begin: returns the writer of the output, which is open.
            records: what they are made of.

        Raises:
            TallystickError: of the parts, or a file cannot be written.
        """
        counts, snapshots, defects = Counts(), set[int](), DefectLog(self.source)
        with closing(parts), self._writer(begin) as writer:
            for part in parts:
                with output_errors(self.output.path):
                    writer.append(part.output)
                self.rejects.write(b"".join(reject.to_json() + b"\n" for reject in part.rejects))
                defects.tell(part.rejects)
                counts += part.counts
                snapshots |= part.snapshots
                if self.progress is not None:
                    self.progress(records.bytes_read, records.size)
        defects.close()
        return counts, snapshots

    @contextmanager
    def _writer(self, begin: Callable[[IO[bytes]], Writer]) -> Iterator[Writer]:
        """Yield the writer of the output, closed at the end, abandoned where the block fails."""
        with output_errors(self.output.path):
            writer = begin(self.output.file)
        try:
            yield writer
        except BaseException:
            # a writer that is left open complains when it is collected
            writer.abandon()
            raise
        with output_errors(self.output.path):
            writer.close()


@contextmanager
def run_files(  # noqa: PLR0913  # the files of a run
    source: PathLike,
    output: PathLike,
    rejects: PathLike | None = None,
    receipt: PathLike | None = None,
    *,
    follow_links: bool = False,
    progress: Progress | None = None,
) -> Iterator[RunFiles]:
    """The files of a run, which take their names together when the block ends without an error.

    The receipt is the commit point: it is the last to take its name, and is taken away before the
    others take theirs.

    Args:
        source: what is read.
        output: what is made; ``-`` is the standard output.
        rejects: where rejected records go; by default beside the output, with ``.rejects.jsonl``
            after its name, or to the error output.
        receipt: where the receipt goes; by default beside the output, with ``.receipt.json``, or
            nowhere.
        follow_links: whether a name may be a link; what it leads to is written.
        progress: told how far the run is.

    Raises:
        InputError: one of them is neither text nor a path.
        OutputError: the output is a folder by its name, such as ``.``, two files are one, or a file
            cannot be written; nothing is left under its name.
    """
    origin = path_of(source, "a file or a folder of records")
    target = path_of(output, "a file to write")
    rejected, stated = (None if path is None else path_of(path) for path in (rejects, receipt))
    if not target.name:
        raise OutputError(f"{target}: a folder, expected the name of a file to write")
    for beside in (rejected, stated):
        if beside == STANDARD:
            raise OutputError(f"{beside}: found the standard output, expected the name of a file")
    if not is_stream(target):
        rejected = rejected or target.with_name(f"{target.name}.rejects.jsonl")
        stated = stated or receipt_beside(target)
    named = [path for path in (target, rejected, stated) if path is not None and path != STANDARD]
    _check_apart(origin, [path for path in named if not is_stream(path)])
    places = [output_path(path, follow_links=follow_links) for path in named]
    with atomic_files(*places) as files:
        opened = dict(zip(named, files, strict=True))
        yield RunFiles(
            origin,
            target,
            opened.get(target) or standard_output(),
            opened[rejected] if rejected else standard_error(),
            opened[stated] if stated else nowhere(),
            progress,
        )


def _check_apart(source: Path, paths: Sequence[Path]) -> None:
    """Refuse an input or output that is another one, or that the next run would read."""
    if not paths:
        return
    places, inside = [output_place(path) for path in paths], False
    # a name that leads nowhere is told when it is read
    with suppress(OSError, ValueError):
        target = Path(os.path.realpath(source))
        inside = target.is_dir() and any(each.parent == target for each in places)
        places.append(target)
    if inside:
        raise OutputError(
            f"{paths[0]}: found an output in the folder of the records, expected another "
            "folder: it would be read as records next time"
        )
    if len(set(places)) < len(places):
        raise OutputError(
            f"{paths[0]}: found two of input, output, rejects and receipt in one file, "
            "expected a file for each"
        )


@json_fields(empty=("internal_errors",))
@attrs.frozen
class Counts:
    """Numbers of records that were read, scored and rejected.

    Attributes:
        records: all of them, good and bad.
        scored: valid, with a submission.
        missed: valid, but without a submission.
        rejected: not valid.
        internal_errors: those of the rejected on which the engine fails; receipts leave out 0.
    """

    records: int = 0
    scored: int = 0
    missed: int = 0
    rejected: int = 0
    internal_errors: int = 0

    @classmethod
    def of(cls, valid: int, answered: int, rejects: Sequence[Reject]) -> Counts:
        """Return the counts of some records.

        Args:
            valid: how many are not rejected.
            answered: how many of them have a submission.
            rejects: the others.
        """
        rejected, defects = len(rejects), len(defects_of(rejects))
        return cls(valid + rejected, answered, valid - answered, rejected, defects)

    def __add__(self, other: Counts) -> Counts:
        return Counts(*map(sum, zip(attrs.astuple(self), attrs.astuple(other), strict=True)))


FORMAT = constant("format", 1)
"""The version of the format of receipts."""


class RunReceipt:
    """A receipt of a run: an attrs class whose JSON keys `json_fields` declares, after `FORMAT`."""

    def to_dict(self) -> dict[str, Any]:
        """Return the receipt as JSON values."""
        value: JsonObject = json_value(self)
        return value

    def to_json(self) -> str:
        """Return the receipt as indented JSON with sorted keys."""
        return json_text(self.to_dict(), indent=2, sort_keys=True) + "\n"


def engine_name() -> str:
    """Return the engine and its version, as receipts name it."""
    return f"tallystick {version('tallystick')}"


def plugin_names(registry: Registry) -> dict[str, str]:
    """Return the distribution and version of each plugin, as receipts name them."""
    return {p.name: f"{p.distribution} {p.version}" for p in registry.plugins.values()}


@json_fields(FORMAT, empty=("rules_by_epoch", "settings"))
@attrs.frozen
class Receipt(RunReceipt):
    """A receipt: the input that was scored, and the code and rules that scored it.

    Attributes:
        rule_set: ``name@version``.
        rule_set_digest: of what the rule set means.
        formulas: the digest of each formula that it uses.
        schemas: the digest of each record schema.
        engine: the version of the engine.
        plugins: the distribution and version of each plugin in use.
        code: the digests of the files of the engine that score, and of each plugin and section in
            use, and the versions of what they rest on.
        snapshots: the digests of the snapshots that pinned the tier thresholds, by the number of
            the epoch; only of epochs that records name. None when scored without a state.
        input_digest: sha256 of the bytes that were read; of a folder, of what ``sha256sum`` prints
            of its files in the order of their names.
        output_digest: sha256 of the bytes that were written.
        rejects_digest: sha256 of the rejects that were written.
        counts: how many records there were.
        rules_by_epoch: where the rules change or are of several lines, each rule set with the epoch
            from which it holds; receipts leave it out where one holds in every epoch.
        settings: the settings file that counted, from the working folder; receipts leave it out
            where none did, as in a program.
    """

    rule_set: str
    rule_set_digest: str
    formulas: Mapping[str, str] = attrs.field(repr=repr_as("formula"))
    schemas: Mapping[str, str] = attrs.field(repr=repr_as("schema"))
    engine: str
    plugins: Mapping[str, str] = attrs.field(repr=repr_as("plugin"))
    code: Code = attrs.field(repr=False)
    snapshots: Mapping[str, str] | None = attrs.field(repr=repr_as("snapshot"))
    input_digest: str
    output_digest: str
    rejects_digest: str
    counts: Counts
    rules_by_epoch: tuple[RulesFrom, ...] | None = None
    settings: str | None = None


@attrs.frozen
class RulesFrom:
    """A rule set, and from when on records are scored by it.

    Attributes:
        epoch: the first.
        rule_set: ``name@version``.
        digest: of what it means.
    """

    epoch: int
    rule_set: str
    digest: str


def rules_by_epoch(rules: BoundRules) -> Iterator[RulesFrom]:
    """Yield each rule set with the epoch from which it holds, by epoch."""
    digests: dict[str, str] = {}
    for epoch, span in rules.spans():
        for line in span.lines or (span,):
            name = line.rule_set.rule_set.name
            if digests.get(name) != line.digest:
                digests[name] = line.digest
                yield RulesFrom(epoch, line.rule_set.reference, line.digest)
