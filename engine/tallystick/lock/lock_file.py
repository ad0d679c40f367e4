"""The lock file: what rule sets, plugins and engine are, by digest; canonical TOML, format 1.

What is equal gives the same bytes, whoever writes it: tables in one order, names sorted, one key a
line. It is read in any spelling; ``schemas/lock-1.schema.json`` says what it holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from tallystick.errors import InputError

LARGEST = 8 * 1024 * 1024
"""The largest lock, in bytes."""
MOST_FILES = 20_000
"""Maximum number of files of the engine and of plugins in a lock."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")


@attrs.frozen
class LockedRuleSet:
    """A rule set of the lock.

    Attributes:
        digest: of what it means.
        formulas: the digest of each formula that it uses, by name.
        requirements: of each requirement of its records.
        schemas: of the record schema of each skill type.
        path: its file from the folder of the lock, in or below it; None where the engine or a
            plugin ships it.
        text: the digest of such a file, with LF at the ends of its lines.
    """

    digest: str
    formulas: Mapping[str, str]
    requirements: Mapping[str, str]
    schemas: Mapping[str, str]
    path: str | None = None
    text: str | None = None


@attrs.frozen
class Lock:
    """The code that results are made with, as it is installed or as a lock has it; and rule sets.

    Attributes:
        versions: of the engine, of the libraries that decide which records are valid, and of the
            distributions of the plugins and sections, by the names of the distributions.
        plugins: the module of each plugin that the rule sets name, by its entry point.
        sections: as ``plugins``, of the sections of the rule sets that plugins bring.
        files: the digest of each file that scores, by its path in the installation: of the engine,
            of plugins and sections, of the vectors, and of rule sets that ship with the engine.
        state_files: of each file that steps a state, beside those.
        rule_sets: by ``name@version``.
    """

    versions: Mapping[str, str]
    plugins: Mapping[str, str]
    sections: Mapping[str, str]
    files: Mapping[str, str] = attrs.field(repr=False)
    state_files: Mapping[str, str] = attrs.field(repr=False)
    rule_sets: Mapping[str, LockedRuleSet] = attrs.field(factory=dict)

    def to_text(self) -> str:
        """Return the canonical text of the file."""
        return "\n".join(_lines(self))


def _lines(lock: Lock) -> Iterator[str]:
    yield "format = 1"
    for name in ("versions", "plugins", "sections"):
        yield from _table([name], getattr(lock, name))
    for name, rules in sorted(lock.rule_sets.items()):
        own = {"digest": rules.digest, "path": rules.path, "text": rules.text}
        tables = {"formulas", "requirements", "schemas"}
        yield from _table(["rule_sets", name], {key: text for key, text in own.items() if text})
        for inner in sorted(tables):
            yield from _table(["rule_sets", name, inner], getattr(rules, inner))
    yield from _table(["files", "scoring"], lock.files)
    yield from _table(["files", "state"], lock.state_files)
    yield ""


def _table(path: list[str], values: Mapping[str, str]) -> Iterator[str]:
    yield ""
    yield f"[{'.'.join(map(_key, path))}]"
    for name, value in sorted(values.items()):
        yield f"{_key(name)} = {_text(value)}"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(value: str) -> str:
    # JSON's escapes are TOML's, but for DEL, which only TOML has escaped
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def read(path: Path) -> Lock:
    """Return the lock in a file.

    Raises:
        InputError: there is no such file, it is too large, or it is no lock.
    """
    from tallystick.io.inputs import start_of  # what only looks needs no reading

    try:
        data = start_of(path, LARGEST + 1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(
            f"{path}: the lock cannot be read ({reason}): write one by tallystick lock --rules"
        ) from error
    return parse(data, str(path))


def parse(data: bytes, where: str) -> Lock:
    """Return the lock that bytes hold; ``where`` is their origin, for errors.

    Raises:
        InputError: they are too many, none, or one of another format.
    """
    import tomli  # where there is a lock

    from tallystick.io.json_schema import first_problem

    if len(data) > LARGEST:
        raise InputError(f"{where}: found more than {LARGEST} bytes, expected a lock")
    try:
        document = tomli.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{where}: found no TOML ({error}), expected a lock: write it again by tallystick lock"
        ) from error
    number = document.get("format", "none")
    if type(number) is not int or number != 1:
        raise InputError(f"{where}: found the format {number!r}, expected 1: write the lock again")
    problem = first_problem("lock-1", document)
    if problem is not None:
        raise _refusal(where, f"{problem.path or 'top'}: {problem.message}")
    del document["format"]
    files: Mapping[str, Any] = document.pop("files")
    many = sum(map(len, files.values()))
    if many > MOST_FILES:
        raise _refusal(where, f"files: found {many} files, expected at most {MOST_FILES}")
    rule_sets = {name: LockedRuleSet(**table) for name, table in document.pop("rule_sets").items()}
    return Lock(**document, files=files["scoring"], state_files=files["state"], rule_sets=rule_sets)


def _refusal(where: str, what: str) -> InputError:
    return InputError(f"{where}: {what}: write the lock again by tallystick lock")
