"""The examples of a plugin's types, and what its generators make: all of it can be scored."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path

import attrs

from tallystick.conformance.codes import finding, finding_in
from tallystick.conformance.subject import Subject
from tallystick.diagnostics import Diagnostic
from tallystick.errors import SchemaError
from tallystick.plugins.skill_type import SkillType
from tallystick.records.decoding import Decoder
from tallystick.records.rejects import Reject
from tallystick.records.schema import load_schema, skill_type_of
from tallystick.testing.samples import SEED, RecordChecker, generated

_TOLD = 3
"""So many records of a file or a generator are told; others fail likely for the same reason."""


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Every example, and every record of a generator, is valid and meets the requirements."""
    types = [each for each in subject.plugin.skill_types if _has_schema(each)]
    judges = _Judges({t.name: RecordChecker(load_schema(t.schema), t.requirements) for t in types})
    # types may share a file of examples
    for path in dict.fromkeys(each.examples for each in types if each.examples is not None):
        yield from _examples(path, judges)
    for skill_type in types:
        yield from _generated(skill_type, judges)


def _has_schema(skill_type: SkillType) -> bool:
    """Whether the schema can be used; what is wrong with another is told by its own check."""
    try:
        return skill_type_of(load_schema(skill_type.schema)) == skill_type.name
    except SchemaError:
        return False


@attrs.frozen(slots=False)
class _Judges:
    """The judges of the types of a plugin, by name."""

    by_type: dict[str, RecordChecker]

    @cached_property
    def decoder(self) -> Decoder:
        return Decoder({name: judge.schema for name, judge in self.by_type.items()})

    def refused(self, lines: Sequence[bytes]) -> Iterator[tuple[int, str]]:
        """The numbers of the lines that are no records of the plugin, and why not."""
        for number, line in enumerate(lines, 1):
            found = self.decoder.decode(line, number)
            if isinstance(found, Reject):
                place = found.path or "the record"
                yield (
                    number,
                    f"{found.code}: {place}: found {found.value}, expected {found.expected}",
                )
                continue
            record = json.loads(line)
            for requirement in self.by_type[record["skill_type"]].unmet(record) or ():
                yield number, f"{requirement.code}: expected {requirement.expected}"


def _examples(path: Path, judges: _Judges) -> Iterator[Diagnostic]:
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        message = f"found a file that cannot be read ({reason}), expected examples"
        yield finding_in("example-refused", path, message)
        return
    for number, why in islice(judges.refused(lines), _TOLD):
        yield finding_in("example-refused", path, why, number)


def _generated(skill_type: SkillType, judges: _Judges) -> Iterator[Diagnostic]:
    try:
        lines = generated(skill_type, SEED)
    except Exception as error:  # noqa: BLE001  # a generator is code of the plugin
        message = f"found {type(error).__name__}: {error}"
        yield finding("generator-refused", skill_type.name, message)
        return
    for number, why in islice(judges.refused(lines), _TOLD):
        yield finding("generator-refused", f"{skill_type.name}, record {number}", why)
