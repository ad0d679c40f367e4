"""The receipt: what was scored with what, so that anyone can do it again and compare."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import attrs

from tallystick.plugins.registry import Registry
from tallystick.records.schema import schema_digest
from tallystick.rules.digest import used_formulas
from tallystick.rules.reading import LoadedRuleSet
from tallystick.scoring.bound import BoundType


@attrs.frozen
class Counts:
    """How many records there were.

    Attributes:
        records: all of them, good and bad.
        scored: with a quality.
        missed: valid, but without a submission, hence without a quality.
        rejected: not valid.
    """

    records: int
    scored: int
    missed: int
    rejected: int

    def __add__(self, other: Counts) -> Counts:
        return Counts(*map(sum, zip(attrs.astuple(self), attrs.astuple(other), strict=True)))


@attrs.frozen
class Receipt:
    """What was scored with what.

    Attributes:
        rule_set: ``name@version``.
        rule_set_digest: of what the rule set means.
        formulas: the digest of each formula that it uses.
        schemas: the digest of each record schema.
        engine: the version of the engine.
        plugins: the distribution and version of each plugin in use.
        snapshots: the digests of the snapshots that pinned the tier thresholds, by the number of
            the epoch; only of epochs that records name. None when scored without a state.
        input_digest: sha256 of the bytes that were read; of a folder, of what ``sha256sum`` prints
            of its files in the order of their names.
        output_digest: sha256 of the bytes that were written.
        counts: how many records there were.
    """

    rule_set: str
    rule_set_digest: str
    formulas: Mapping[str, str]
    schemas: Mapping[str, str]
    engine: str
    plugins: Mapping[str, str]
    snapshots: Mapping[str, str] | None
    input_digest: str
    output_digest: str
    counts: Counts

    def to_dict(self) -> dict[str, Any]:
        """The receipt as JSON values."""
        return {"format": 1, **attrs.asdict(self)}

    def to_json(self) -> str:
        """The receipt as indented JSON with sorted keys."""
        return json.dumps(self.to_dict(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def receipt_of(  # noqa: PLR0913  # everything that a receipt covers
    loaded: LoadedRuleSet,
    registry: Registry,
    types: Mapping[str, BoundType],
    *,
    snapshots: Mapping[str, str] | None,
    input_digest: str,
    output_digest: str,
    counts: Counts,
) -> Receipt:
    """The receipt of one run."""
    formulas = used_formulas(loaded.rule_set)
    return Receipt(
        rule_set=loaded.rule_set.reference,
        rule_set_digest=loaded.digest,
        formulas={name: registry.formulas[name].digest for name in formulas},
        schemas={name: schema_digest(bound.schema) for name, bound in types.items()},
        engine=f"tallystick {version('tallystick')}",
        plugins={p.name: f"{p.distribution} {p.version}" for p in registry.plugins.values()},
        snapshots=snapshots,
        input_digest=input_digest,
        output_digest=output_digest,
        counts=counts,
    )
