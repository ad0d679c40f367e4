"""The lock file: what rule sets, plugins and engine are, by digest; canonical TOML, format 1.

What is equal gives the same bytes, whoever writes it: tables in one order, names sorted, one key a
line. It is read in any spelling. Reading it loads no library but the TOML parser, so that a check
costs little more than a start; of a lock that cannot be read ``schemas/lock-1.schema.json`` says
what is wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import attrs
from attrs import validators

from tallystick.canonical import digest_of_bytes
from tallystick.errors import InputError
from tallystick.resources import vectors_path

_STEM = "tallystick"
FILE = f"{_STEM}.lock"
"""The name of the file where none is given."""
LARGEST = 8 * 1024 * 1024
"""The largest lock, in bytes."""
MOST_FILES = 20_000
"""Maximum number of files of the engine and of plugins in a lock."""

CODES = {
    "lock-differs": "what is installed is not what the lock says",
    "no-vectors": "no vectors that ship with the engine are of the rule set",
    "rules-not-locked": "the lock has no rule set that means the same",
    "self-test-failed": "a record of the vectors scores otherwise",
}
"""The code of each refusal, and what it means."""
RULE_SETS = "_data/rules/"
"""Folder of the shipped rule sets, among the names of the engine's files."""
NOTHING = "nothing"
"""The digest or version, in messages, of a file or package that is not there."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_TEXT = validators.and_(validators.instance_of(str), validators.min_len(1))
_DIGEST = validators.matches_re(f"sha256:[0-9a-f]{{64}}|{NOTHING}")
_TEXTS = validators.deep_mapping(validators.instance_of(str), _TEXT)
_DIGESTS = validators.deep_mapping(validators.instance_of(str), _DIGEST)
_NO_STATE = {"digest": NOTHING}


def _check_path(_lock: LockedRuleSet, _field: object, path: str | None) -> None:
    """Refuse a path that is not in or below a folder."""
    parts = PurePosixPath(path or ".")
    if path == "" or parts.is_absolute() or ".." in parts.parts or "\0" in str(path):
        raise ValueError(path)


def _check_count(_lock: LockedRuleSet, _field: object, count: int) -> None:
    if type(count) is not int or not 0 <= count < 2**53:
        raise ValueError(count)


@attrs.frozen
class LockedPlugin:
    """A plugin that rule sets of the lock name, or the plugin of a section that they have.

    Attributes:
        distribution: what was installed.
        version: its version.
        module: the module of its entry point.
        digest: of its files; None of one that is in no files, but in an archive, say.
        files: the digest of each file, by name.
    """

    distribution: str = attrs.field(validator=_TEXT)
    version: str = attrs.field(validator=_TEXT)
    module: str = attrs.field(validator=_TEXT)
    digest: str | None = attrs.field(validator=validators.optional(_DIGEST))
    files: Mapping[str, str] = attrs.field(validator=_DIGESTS, repr=False)


@attrs.frozen
class LockedRuleSet:
    """A rule set of the lock.

    Attributes:
        digest: of what it means.
        text: of what its file says, with LF at the ends of its lines.
        path: its file from the folder of the lock, in or below it, unless the engine or a plugin
            ships it.
        vectors: how many rows of the vectors are of it.
        formulas: the digest of each formula that it uses, by name.
        requirements: of each requirement of its records.
        schemas: of the record schema of each skill type.
    """

    digest: str = attrs.field(validator=_DIGEST)
    text: str = attrs.field(validator=_DIGEST)
    path: str | None = attrs.field(validator=_check_path)
    vectors: int = attrs.field(validator=_check_count)
    formulas: Mapping[str, str] = attrs.field(validator=_DIGESTS)
    requirements: Mapping[str, str] = attrs.field(validator=_DIGESTS)
    schemas: Mapping[str, str] = attrs.field(validator=_DIGESTS)


@attrs.frozen
class Lock:
    """A lock: the code and the rule sets that results are made with.

    Attributes:
        version: of the engine.
        engine: the digest of its files that score.
        files: the digest of each of them, by its name in the package, and of each rule set that
            ships with the engine.
        dependencies: the versions of what decides which records are valid, by name.
        vectors: the digest of the vectors that ship with the engine.
        plugins: by the name of the entry point.
        rule_sets: by ``name@version``.
        sections: as ``plugins``, of the sections of the rule sets that plugins bring.
        state: the digest of the files that step a state beside those that score.
        state_files: the digest of each of these, by its path in the installation.
    """

    version: str = attrs.field(validator=_TEXT)
    engine: str = attrs.field(validator=_DIGEST)
    files: Mapping[str, str] = attrs.field(validator=_DIGESTS, repr=False)
    dependencies: Mapping[str, str] = attrs.field(validator=_TEXTS)
    vectors: str = attrs.field(validator=_DIGEST)
    plugins: Mapping[str, LockedPlugin]
    rule_sets: Mapping[str, LockedRuleSet]
    sections: Mapping[str, LockedPlugin] = attrs.field(factory=dict)
    state: str = attrs.field(default=NOTHING, validator=_DIGEST)
    state_files: Mapping[str, str] = attrs.field(factory=dict, validator=_DIGESTS, repr=False)

    def to_text(self) -> str:
        """Return the canonical text of the file."""
        return "\n".join(_lines(self))


def _lines(lock: Lock) -> Iterator[str]:
    yield "format = 1"
    yield from _table(["engine"], {"version": lock.version, "digest": lock.engine})
    yield from _table(["dependencies"], _sorted(lock.dependencies))
    yield from _table(["vectors"], {"digest": lock.vectors})
    if lock.state != NOTHING:
        yield from _table(["state"], {"digest": lock.state})
    for name, plugin in sorted(lock.plugins.items()):
        yield from _table(["plugins", name], _values(plugin))
    for name, section in sorted(lock.sections.items()):
        yield from _table(["sections", name], _values(section))
    for name, rules in sorted(lock.rule_sets.items()):
        yield from _table(["rule_sets", name], _values(rules))
        for inner in ("formulas", "requirements", "schemas"):
            yield from _table(["rule_sets", name, inner], _sorted(getattr(rules, inner)))
    yield from _table(["files", "engine"], _sorted(lock.files))
    if lock.state != NOTHING:
        yield from _table(["files", "state"], _sorted(lock.state_files))
    for name, plugin in sorted(lock.plugins.items()):
        yield from _table(["files", "plugins", name], _sorted(plugin.files))
    for name, section in sorted(lock.sections.items()):
        yield from _table(["files", "sections", name], _sorted(section.files))
    yield ""


def _values(found: LockedPlugin | LockedRuleSet) -> dict[str, str | int | None]:
    """Return the values of a table itself, without the tables in it."""
    fields = attrs.asdict(found, recurse=False)
    return {name: value for name, value in fields.items() if not isinstance(value, Mapping)}


def _sorted(found: Mapping[str, str]) -> dict[str, str | int | None]:
    return dict(sorted(found.items()))


def _table(path: list[str], values: Mapping[str, str | int | None]) -> Iterator[str]:
    yield ""
    yield f"[{'.'.join(map(_key, path))}]"
    for name, value in values.items():
        if value is not None:
            yield f"{_key(name)} = {value if isinstance(value, int) else _text(value)}"


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

    if len(data) > LARGEST:
        raise InputError(f"{where}: found more than {LARGEST} bytes, expected a lock")
    try:
        document = tomli.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{where}: found no TOML ({error}), expected a lock: write it again by tallystick lock"
        ) from error
    if document.get("format") != 1 or document.get("format") is True:
        number = document.get("format", "none")
        raise InputError(f"{where}: found the format {number!r}, expected 1: write the lock again")
    try:
        lock = _lock(**document)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        from tallystick.io.json_schema import first_problem  # the schema knows why

        problem = first_problem("lock-1", document)
        what = str(error) if problem is None else f"{problem.path or 'top'}: {problem.message}"
        raise _refusal(where, what) from error
    parts = (*lock.plugins.values(), *lock.sections.values())
    many = sum(map(len, [lock.files, lock.state_files, *(part.files for part in parts)]))
    if many > MOST_FILES:
        raise _refusal(where, f"files: found {many} files, expected at most {MOST_FILES}")
    return lock


def _refusal(where: str, what: str) -> InputError:
    return InputError(f"{where}: {what}: write the lock again by tallystick lock")


def _lock(  # noqa: PLR0913  # the tables of a document, so that no other is read
    *,
    format: int,  # noqa: A002  # as the file has it
    engine: Mapping[str, str],
    dependencies: Mapping[str, str],
    vectors: Mapping[str, str],
    plugins: Mapping[str, Any],
    rule_sets: Mapping[str, Any],
    files: Mapping[str, Any],
    sections: Mapping[str, Any] | None = None,
    state: Mapping[str, str] | None = None,
) -> Lock:
    """Return the lock of a document; whatever is wrong with it raises one error or another."""
    del format
    if not rule_sets:
        raise ValueError(rule_sets)
    version, engine_digest = _closed(engine, "version", "digest")
    (of_vectors,), (of_state,) = _closed(vectors, "digest"), _closed(state or _NO_STATE, "digest")
    every = {"state": {}, "plugins": {}, "sections": {}, **files}
    of_engine, of_states, *of_parts = _closed(every, "engine", "state", "plugins", "sections")
    return Lock(
        version,
        engine_digest,
        of_engine,
        dependencies,
        of_vectors,
        _plugins("plugins", plugins, of_parts[0]),
        {name: LockedRuleSet(**{"path": None, **table}) for name, table in rule_sets.items()},
        _plugins("sections", sections or {}, of_parts[1]),
        of_state,
        of_states,
    )


def _plugins(
    kind: str, tables: Mapping[str, Any], files: Mapping[str, Any]
) -> dict[str, LockedPlugin]:
    if strange := sorted(files.keys() - tables.keys()):
        raise ValueError(f"files.{kind}.{strange[0]}: found files, expected those of its {kind}")
    return {
        name: LockedPlugin(**{"digest": None, **table, "files": files.get(name, {})})
        for name, table in tables.items()
    }


def _closed(table: Mapping[str, Any], *keys: str) -> list[Any]:
    """Return the values of a table that has these keys and no other."""
    if table.keys() != {*keys}:
        raise KeyError(*keys)
    return [table[key] for key in keys]


def vectors_digest() -> str:
    """Return the digest of the vectors of the engine; ``nothing`` where there are none."""
    try:
        return text_digest(vectors_path().read_bytes())
    except OSError:
        return NOTHING


def text_digest(data: bytes) -> str:
    """Return the digest of the bytes of a text file, with LF at the ends of its lines."""
    return digest_of_bytes(data.replace(b"\r\n", b"\n"))
