"""The examples of a plugin's types, and what its generators make: all of it can be scored."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tallystick.errors import SchemaError
from tallystick.kit.codes import finding
from tallystick.kit.finding import Finding
from tallystick.kit.samples import SEED, Judge, generated
from tallystick.kit.subject import Subject
from tallystick.plugins.skill_type import SkillType
from tallystick.records.decoding import Decoder
from tallystick.records.rejects import Reject
from tallystick.records.schema import load_schema

_TOLD = 3
"""So many records of a type are told; the others fail likely for the same reason."""


def check(subject: Subject) -> Iterator[Finding]:
    """Every example, and every record of a generator, is valid and meets the requirements."""
    for skill_type in subject.plugin.skill_types:
        try:
            judge = Judge(load_schema(skill_type.schema), skill_type.requirements)
        except SchemaError:
            continue  # what is wrong with a schema is told of it
        yield from _examples(skill_type, judge)
        yield from _generated(skill_type, judge)


def _examples(skill_type: SkillType, judge: Judge) -> Iterator[Finding]:
    path = skill_type.examples
    if path is None:
        return
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        message = f"found a file that cannot be read ({reason}), expected examples"
        yield finding("example-refused", str(path), message)
        return
    refused = _refused(skill_type, judge, lines)
    for number, why in list(refused)[:_TOLD]:
        yield finding("example-refused", f"{path}:{number}", why)


def _generated(skill_type: SkillType, judge: Judge) -> Iterator[Finding]:
    try:
        lines = generated(skill_type, SEED)
    except Exception as error:  # noqa: BLE001  # a generator is code of the plugin
        message = f"found {type(error).__name__}: {error}"
        yield finding("generator-refused", skill_type.name, message)
        return
    for number, why in list(_refused(skill_type, judge, lines))[:_TOLD]:
        yield finding("generator-refused", f"{skill_type.name}, record {number}", why)


def _refused(skill_type: SkillType, judge: Judge, lines: list[bytes]) -> Iterator[tuple[int, str]]:
    """The numbers of the lines that are no valid records of the type, and why not."""
    decoder = Decoder({skill_type.name: judge.schema})
    for number, line in enumerate(lines, 1):
        found = decoder.decode(line, number)
        if isinstance(found, Reject):
            place = found.path or "the record"
            yield number, f"{found.code}: {place}: found {found.value}, expected {found.expected}"
        else:
            for requirement in judge.unmet(json.loads(line)) or ():
                yield number, f"{requirement.code}: expected {requirement.expected}"
