"""The receipt of a run: what was made with what, so that anyone can do it again and compare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import attrs

from tallystick.io.text import json_text
from tallystick.json_values import JsonObject, constant, json_fields, json_value
from tallystick.numbers.text import repr_as
from tallystick.plugins.code import Code
from tallystick.plugins.registry import Registry
from tallystick.records.defects import defects_of
from tallystick.records.rejects import Reject
from tallystick.scoring.bound_rules import BoundRules


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
