"""Policies: TOML files in which a council writes down what a change of rules may do.

A policy is read strictly by the schema ``gate-policy-1``. Its digest is of its content, such that
comments, spelling and the order of tables are free; a receipt and a trust file name it by that.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs

from tallystick.canonical import digest
from tallystick.diagnostics import nearest
from tallystick.errors import InputError
from tallystick.io.text import visible
from tallystick.rules.findings import one_of
from tallystick.rules.toml import Document, decimal_text
from tallystick.rules.toml_source import check_source, read_source

SHIPPED = Path(__file__).parent / "policies"
"""Folder of the policies that ship, which are named without a path."""
_EXPECTED = "a policy"
_SUFFIX = ".toml"
_SECTIONS = ("emission", "weight", "lint", "prove", "diff", "simulation")
"""Tables of clauses, in the order in which the clauses are asked."""
_DEVIATION = "deviation_gain_at_most"


@attrs.frozen
class Measure:
    """The sizes of what figures are measured on.

    Attributes:
        seeds: of made-up networks; each clause has to hold with every one.
        epochs: of a made-up network.
        trial_epochs: of the networks in which deviations are tried.
        proof_steps: the most steps of the solver for each rule set, in millions.
        proof_seconds: the time for the proofs of both rule sets.
    """

    seeds: tuple[int, ...] = (1,)
    epochs: int = 12
    trial_epochs: int = 6
    proof_steps: int = 40
    proof_seconds: int = 300


@attrs.frozen
class Clause:
    """A clause of a policy.

    Attributes:
        name: its path, such as ``weight.moved_at_most``.
        options: its keys with their values; numbers are exact.
        reason: why it is as it is, in the words of the council; may be empty.
        is_optional: whether it may be left out where it cannot be asked.
    """

    name: str
    options: Mapping[str, Any] = attrs.field(factory=dict)
    reason: str = ""
    is_optional: bool = False


@attrs.frozen
class Policy:
    """The content of a policy.

    Attributes:
        name: its name.
        summary: the purpose, in its own words; may be empty.
        measure: the sizes of what is measured.
        clauses: those that it has, in the order of the format.
        digest: of what the file says.
    """

    name: str
    summary: str
    measure: Measure
    clauses: tuple[Clause, ...]
    digest: str


def read(reference: str) -> Policy:
    """Return the policy in a file, or one that ships, by its name.

    Args:
        reference: a path, which has a slash or ends in ``.toml``; else the name of one that ships.

    Raises:
        InputError: there is no such file, or it is no policy; the message has the file, the line,
            the path of the value, and what was expected.
    """
    if "/" in reference or reference.endswith(_SUFFIX):
        return _policy(read_source(Path(reference), _EXPECTED))
    names = sorted(path.stem for path in SHIPPED.glob(f"*{_SUFFIX}"))
    if reference not in names:
        raise InputError(
            f"found no policy {visible(reference)!r}, expected the path of a file, or one that "
            f"ships: {one_of(names)}{nearest(reference, names)}"
        )
    return _policy(read_source(SHIPPED / f"{reference}{_SUFFIX}", _EXPECTED))


def _policy(source: Document) -> Policy:
    check_source(source, "gate-policy-1")
    tables = source.data
    clauses = tuple(
        _clause(f"{section}.{name}", tables[section][name])
        for section in _SECTIONS
        for name in sorted(tables.get(section, {}))
    )
    if not clauses:
        raise source.error((), f"found no clause, expected one of {', '.join(_SECTIONS)}")
    deviation = tables.get("simulation", {}).get(_DEVIATION)
    if deviation is not None and not {"times", "more"} & deviation.keys():
        expected = "times, more, or both"
        path = ("simulation", _DEVIATION)
        raise source.error(path, f"found neither times nor more, expected {expected}")
    measure = {**tables.get("measure", {})}
    if "seeds" in measure:
        measure["seeds"] = tuple(measure["seeds"])
    return Policy(
        tables["name"],
        tables.get("summary", ""),
        Measure(**measure),
        clauses,
        digest(_canonical(tables)),
    )


def _clause(name: str, table: Mapping[str, Any]) -> Clause:
    own = ("reason", "optional")
    options = {key: value for key, value in table.items() if key not in own}
    return Clause(name, options, table.get("reason", ""), table.get("optional", False))


def _canonical(value: Any) -> Any:  # noqa: ANN401  # any value of a document
    """Return a value as JSON in which each number is its shortest decimal, as text."""
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return decimal_text(Decimal(value))
    return value
