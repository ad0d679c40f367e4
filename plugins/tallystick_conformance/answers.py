"""The answers of the process that checks a plugin: lines of JSON, each written when it is known."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import IO, Any, Literal, TypeVar

import attrs
import msgspec

from tallystick.diagnostics import Diagnostic

T = TypeVar("T")


class About(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The plugin: its folder, its formulas with digests and texts, how many skill types it has."""

    folder: str
    formulas: dict[str, str]
    texts: dict[str, list[str]]
    skill_types: int


class Found(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A finding, with the fields of a `Diagnostic`."""

    code: str
    severity: Literal["error", "warning", "note"]
    file: str
    line: int
    path: str
    message: str
    evidence: dict[str, Any]
    remedy: str


class Answer(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One line.

    Attributes:
        begin: the check that begins.
        found: a finding of the check that began last.
        about: the plugin.
        generated: the digest of the made-up records of each skill type.
        values: the values of each opaque fact.
        golden: records with their integers, by formula and opaque fact.
        end: whether nothing comes behind it.
    """

    begin: str | None = None
    found: Found | None = None
    about: About | None = None
    generated: dict[str, str] | None = None
    values: dict[str, list[str]] | None = None
    golden: dict[str, dict[str, list[tuple[dict[str, Any], int]]]] | None = None
    end: bool = False


@attrs.frozen(slots=False)
class Answers:
    """The answers of one run, up to its end or to where they break off.

    Attributes:
        lines: in order.
    """

    lines: Sequence[Answer] = ()

    @classmethod
    def read(cls, data: bytes) -> Answers:
        """Read the answers of a run; what follows a line that is none is left out."""
        lines = list[Answer]()
        for line in data.splitlines():
            try:
                lines.append(msgspec.convert(json.loads(line), Answer))
            except (ValueError, RecursionError):  # what msgspec refuses is a ValueError too
                break
        return cls(tuple(lines))

    @cached_property
    def about(self) -> About | None:
        """The plugin; None where nothing is said about it."""
        return self._first(lambda line: line.about)

    @cached_property
    def generated(self) -> Mapping[str, str]:
        """The digests of the made-up records."""
        return self._first(lambda line: line.generated) or {}

    @cached_property
    def values(self) -> Mapping[str, list[str]] | None:
        """The values of opaque facts; None where the checks did not come so far."""
        return self._first(lambda line: line.values)

    @cached_property
    def golden(self) -> Mapping[str, Mapping[str, Sequence[tuple[dict[str, Any], int]]]]:
        """The values of opaque facts to be recorded, by formula."""
        return self._first(lambda line: line.golden) or {}

    @property
    def has_end(self) -> bool:
        """True where the process came to its end."""
        return bool(self.lines) and self.lines[-1].end

    @property
    def begun(self) -> Sequence[str]:
        """The checks that began, in order."""
        return [line.begin for line in self.lines if line.begin is not None]

    def findings(self, first: str) -> Iterator[tuple[str, Diagnostic]]:
        """Yield each finding with its check; ``first`` is that of findings before any began."""
        name = first
        for line in self.lines:
            name = line.begin or name
            if line.found is not None:
                yield name, Diagnostic(**msgspec.structs.asdict(line.found))

    def _first(self, said: Callable[[Answer], T | None]) -> T | None:
        return next((value for line in self.lines if (value := said(line)) is not None), None)


def writer(file: IO[bytes]) -> Callable[..., None]:
    """Return what writes one line of answers at once, from keywords."""

    def say(**value: Any) -> None:  # noqa: ANN401  # JSON values
        file.write(json.dumps(value, default=repr).encode() + b"\n")
        file.flush()

    return say
