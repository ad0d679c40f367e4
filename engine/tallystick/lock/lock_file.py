"""The lock file: what rule sets, plugins and engine are, by digest; canonical TOML, format 1.

What is equal gives the same bytes, whoever writes it: tables in one order, names sorted, one key a
line. It is read in any spelling. Reading it loads no library but the TOML parser, so that a check
costs little more than a start; ``schemas/lock-1.schema.json`` says the same for other readers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import attrs

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

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_LARGEST_NUMBER = 2**53 - 1


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

    distribution: str
    version: str
    module: str
    digest: str | None
    files: Mapping[str, str] = attrs.field(repr=False)


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

    digest: str
    text: str
    path: str | None
    vectors: int
    formulas: Mapping[str, str]
    requirements: Mapping[str, str]
    schemas: Mapping[str, str]


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

    version: str
    engine: str
    files: Mapping[str, str] = attrs.field(repr=False)
    dependencies: Mapping[str, str]
    vectors: str
    plugins: Mapping[str, LockedPlugin]
    rule_sets: Mapping[str, LockedRuleSet]
    sections: Mapping[str, LockedPlugin] = attrs.field(factory=dict)
    state: str = NOTHING
    state_files: Mapping[str, str] = attrs.field(factory=dict, repr=False)

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
    return _Reader(where).lock(document)


@attrs.frozen
class _Reader:
    """Takes the values of a document, each with its path in what is told of it."""

    where: str

    def lock(self, document: Mapping[str, Any]) -> Lock:
        names = ("engine", "dependencies", "vectors", "plugins", "rule_sets", "files")
        top = self.closed(document, "", ("format", *names), ("state", "sections"))
        engine = self.closed(top["engine"], "engine", ("version", "digest"))
        vectors = self.closed(top["vectors"], "vectors", ("digest",))
        files = self.closed(top["files"], "files", ("engine",), ("state", "plugins", "sections"))
        plugins = self.plugins(top["plugins"], files.get("plugins", {}), "plugins")
        sections = self.plugins(top.get("sections", {}), files.get("sections", {}), "sections")
        lock = Lock(
            version=self.text(engine["version"], "engine.version"),
            engine=self.digest(engine["digest"], "engine.digest"),
            files=self.digests(files["engine"], "files.engine"),
            dependencies=self.texts(top["dependencies"], "dependencies"),
            vectors=self.digest(vectors["digest"], "vectors.digest"),
            plugins=plugins,
            rule_sets={
                name: self.rule_set(table, f"rule_sets.{name}")
                for name, table in self.table(top["rule_sets"], "rule_sets").items()
            },
            sections=sections,
            state=self.state(top.get("state")),
            state_files=self.digests(files.get("state", {}), "files.state"),
        )
        self.check_files(lock)
        return lock

    def state(self, value: object) -> str:
        if value is None:
            return NOTHING
        return self.digest(self.closed(value, "state", ("digest",))["digest"], "state.digest")

    def check_files(self, lock: Lock) -> None:
        parts = (*lock.plugins.values(), *lock.sections.values())
        many = sum(map(len, [lock.files, lock.state_files, *(part.files for part in parts)]))
        if many > MOST_FILES:
            raise self.refusal("files", f"{many} files", f"at most {MOST_FILES}")
        if not lock.rule_sets:
            raise self.refusal("rule_sets", "none", "at least one rule set")

    def plugins(self, value: object, files: object, path: str) -> dict[str, LockedPlugin]:
        tables, listed = self.table(value, path), self.table(files, f"files.{path}")
        strange = sorted(listed.keys() - tables.keys())
        if strange:
            expected = f"those of a {path.removesuffix('s')} of it"
            raise self.refusal(f"files.{path}.{strange[0]}", "files", expected)
        return {
            name: self.plugin(table, listed.get(name, {}), f"{path}.{name}")
            for name, table in tables.items()
        }

    def plugin(self, value: object, files: object, path: str) -> LockedPlugin:
        table = self.closed(value, path, ("distribution", "version", "module"), ("digest",))
        digest = table.get("digest")
        return LockedPlugin(
            distribution=self.text(table["distribution"], f"{path}.distribution"),
            version=self.text(table["version"], f"{path}.version"),
            module=self.text(table["module"], f"{path}.module"),
            digest=None if digest is None else self.digest(digest, f"{path}.digest"),
            files=self.digests(files, f"files.{path}"),
        )

    def rule_set(self, value: object, path: str) -> LockedRuleSet:
        tables = ("formulas", "requirements", "schemas")
        table = self.closed(value, path, ("digest", "text", "vectors", *tables), ("path",))
        file = table.get("path")
        return LockedRuleSet(
            self.digest(table["digest"], f"{path}.digest"),
            self.digest(table["text"], f"{path}.text"),
            None if file is None else self.file(file, f"{path}.path"),
            self.number(table["vectors"], f"{path}.vectors"),
            *[self.digests(table[name], f"{path}.{name}") for name in tables],
        )

    def closed(
        self, value: object, path: str, wanted: tuple[str, ...], optional: tuple[str, ...] = ()
    ) -> Mapping[str, Any]:
        """Return a table with these keys and no other."""
        table = self.table(value, path)
        head = f"{path}." if path else ""
        for name in table:
            if name not in wanted and name not in optional:
                keys = ", ".join((*wanted, *optional))
                raise self.refusal(f"{head}{name}", "an unknown key", f"some of {keys}")
        for name in wanted:
            if name not in table:
                raise self.refusal(f"{head}{name}", "nothing", "a value")
        return table

    def table(self, value: object, path: str) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self.refusal(path, repr(value), "a table")
        return value

    def text(self, value: object, path: str) -> str:
        if not isinstance(value, str) or not value:
            raise self.refusal(path, repr(value), "text")
        return value

    def file(self, value: object, path: str) -> str:
        name = self.text(value, path)
        parts = PurePosixPath(name)
        if parts.is_absolute() or ".." in parts.parts or "\0" in name:
            expected = "a path in or below the folder of the lock, relative to it"
            raise self.refusal(path, repr(name), expected)
        return name

    def texts(self, value: object, path: str) -> Mapping[str, str]:
        table = self.table(value, path)
        return {name: self.text(text, f"{path}.{name}") for name, text in table.items()}

    def number(self, value: object, path: str) -> int:
        if type(value) is not int or not 0 <= value <= _LARGEST_NUMBER:
            raise self.refusal(path, repr(value), "a whole number")
        return value

    def digest(self, value: object, path: str) -> str:
        if not isinstance(value, str) or not _DIGEST.fullmatch(value):
            raise self.refusal(path, repr(value), "sha256: and 64 hexadecimal digits")
        return value

    def digests(self, value: object, path: str) -> Mapping[str, str]:
        table = self.table(value, path)
        return {name: self.digest(text, f"{path}.{name}") for name, text in table.items()}

    def refusal(self, path: str, found: str, expected: str) -> InputError:
        excerpt = found if len(found) <= 80 else f"{found[:77]}..."
        return InputError(
            f"{self.where}: {path}: found {excerpt}, expected {expected}: "
            "write the lock again by tallystick lock"
        )


def vectors_digest() -> str:
    """Return the digest of the vectors of the engine; ``nothing`` where there are none."""
    try:
        return text_digest(vectors_path().read_bytes())
    except OSError:
        return NOTHING


def text_digest(data: bytes) -> str:
    """Return the digest of the bytes of a text file, with LF at the ends of its lines."""
    return digest_of_bytes(data.replace(b"\r\n", b"\n"))
