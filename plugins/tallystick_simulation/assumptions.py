"""Assumptions: what strategies cost, how accurate they are, and other numbers that nobody knows.

They are data with their sources. A file may leave out what it does not change of the one that
ships; a name that the shipped one lacks is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import attrs

from tallystick.diagnostics import nearest
from tallystick.io.paths import PathLike, path_of
from tallystick.numbers.nano import NANO
from tallystick.records.messages import shown
from tallystick.rules.toml import Document
from tallystick.rules.toml_source import check_source, read_source

_SHIPPED = Path(__file__).parent / "assumptions.toml"
_EXPECTED = "a file of assumptions"
_TABLES = ("accuracies", "costs", "constants")
_HUNDRED = 100


@attrs.frozen
class Assumption:
    """A number with its source.

    Attributes:
        value: a whole number, in the unit of its table.
        source: where it comes from.
        assumption: whether it is only assumed.
    """

    value: int
    source: str
    assumption: bool


@attrs.frozen
class Assumptions:
    """The numbers that a simulation needs beside the rules.

    Attributes:
        accuracies: how many of 100 things the answers of a strategy have right.
        costs: hundredths of the work of an honest answer.
        constants: others, by name.
    """

    accuracies: Mapping[str, Assumption]
    costs: Mapping[str, Assumption]
    constants: Mapping[str, Assumption]

    @classmethod
    def of_json(cls, document: Mapping[str, Any]) -> Assumptions:
        """Return the assumptions of JSON values, each table complete."""
        return cls(
            *(
                {name: Assumption(**row) for name, row in document[table].items()}
                for table in _TABLES
            )
        )

    def cost(self, strategy: str) -> int:
        """Return the cost of an answer, in nano units of the work of an honest one."""
        return self.costs[strategy].value * NANO // _HUNDRED

    def accuracy(self, strategy: str) -> int:
        """Return how many of 100 things the answers of a strategy have right."""
        return self.accuracies[strategy].value

    def constant(self, name: str) -> int:
        """Return a number that is neither cost nor accuracy."""
        return self.constants[name].value


@cache
def shipped_assumptions() -> Assumptions:
    """Return the assumptions that ship with the engine."""
    return Assumptions.of_json(_source(_SHIPPED).data)


def read_assumptions(source: PathLike) -> Assumptions:
    """Return the assumptions of a file; what it leaves out is as in the shipped one.

    Raises:
        InputError: the file cannot be read, does not follow its schema, or names something unknown.
    """
    file, base = _source(path_of(source, _EXPECTED)), _source(_SHIPPED).data
    own = {table: file.data.get(table, {}) for table in _TABLES}
    for table, rows in own.items():
        for name in rows:
            if name not in base[table]:
                expected = f"one of {', '.join(base[table])}{nearest(name, base[table])}"
                raise file.error((table, name), f"found {shown(name)}, expected {expected}")
    return Assumptions.of_json({table: {**base[table], **own[table]} for table in _TABLES})


def _source(path: Path) -> Document:
    """Return the tables of a file that follows the schema.

    Raises:
        InputError: it does not, or cannot be read.
    """
    source = read_source(path, _EXPECTED)
    check_source(source, "assumptions-1")
    return source
