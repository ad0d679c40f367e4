"""Assumptions: what strategies cost, how accurate they are, and other numbers that nobody knows.

They are data with their sources. A file may leave out what it does not change of the one that
ships; a name that the shipped one lacks is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import attrs
import jsonschema_rs

from tallystick.diagnostics import nearest
from tallystick.errors import InputError
from tallystick.io.documents import read_json, read_toml
from tallystick.io.paths import PathLike, path_of
from tallystick.numbers.nano import NANO
from tallystick.records.messages import shown

_FOLDER = Path(__file__).parent
_SHIPPED = _FOLDER / "assumptions.toml"
_SCHEMA = _FOLDER / "schemas" / "assumptions-1.schema.json"
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
    return Assumptions.of_json(_document(_SHIPPED))


def read_assumptions(source: PathLike) -> Assumptions:
    """Return the assumptions of a file; what it leaves out is as in the shipped one.

    Raises:
        InputError: the file cannot be read, lacks a source, or names something unknown.
    """
    path = path_of(source, "a file of assumptions")
    own, base = _document(path), _document(_SHIPPED)
    for table in _TABLES:
        for name in own.get(table, {}):
            if name not in base[table]:
                raise InputError(
                    f"{path}: found {table}.{shown(name)}, expected one of "
                    f"{', '.join(base[table])}{nearest(name, base[table])}"
                )
    return Assumptions.of_json({table: {**base[table], **own.get(table, {})} for table in _TABLES})


def _document(path: Path) -> Mapping[str, Any]:
    """Return the tables of a file that follows the schema.

    Raises:
        InputError: it does not, or cannot be read.
    """
    try:
        document = read_toml(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{path}: found no TOML ({error}), expected assumptions") from error
    problem = next(_validator().iter_errors(document), None)
    if problem is not None:
        where = ".".join(map(str, problem.instance_path))
        raise InputError(
            f"{path}: {where or 'the file'}: found {problem.message}, expected what the format has"
        )
    return document


@cache
def _validator() -> jsonschema_rs.Draft202012Validator:
    schema = json.loads(json.dumps(read_json(_SCHEMA)))
    return jsonschema_rs.Draft202012Validator(schema)
