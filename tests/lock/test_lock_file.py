"""The file of a lock: its bytes, what is read of them, and what is refused."""

import json
import tomllib
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import attrs
import jsonschema
import pytest
from cli.command import message_of, run
from cli.others import open_folder

import tallystick
import tallystick_skills
from tallystick.canonical import digest_of_bytes
from tallystick.errors import InputError
from tallystick.lock.lock_file import (
    LARGEST,
    MOST_FILES,
    Lock,
    LockedRuleSet,
    parse,
    read,
)
from tallystick.lock.write import write
from tallystick.plugins.code import DEPENDENCIES
from tallystick.resources import folder, schema_path, vectors_path

Json = Any
D = "sha256:" + "0" * 64


def schema() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(schema_path("lock-1").read_bytes()))


def test_it_says_what_is_installed(lock: Lock) -> None:
    scorer = tallystick.load("skills@1.1.0")
    rules = lock.rule_sets["skills@1.1.0"]
    text = folder("rules") / "skills" / "1.1.0.toml"
    assert rules.digest == scorer.digest
    assert (rules.path, rules.text) == (None, None)
    used = {
        value.formula.name: value.formula.digest for b in scorer.types.values() for value in b.axes
    }
    assert used.items() <= rules.formulas.items()
    assert rules.schemas.keys() == set(scorer.rule_set.skill_types)
    assert lock.versions == {name: version(name) for name in ("tallystick", *DEPENDENCIES)}
    assert set(lock.plugins) == {"consensus", "skills", "workflow"}
    package = Path(tallystick_skills.__file__).parent
    for path, file in {
        "tallystick/_data/vectors/rows.json": vectors_path(),
        "tallystick/_data/rules/skills/1.1.0.toml": text,
        "tallystick_skills/axes.py": package / "axes.py",
    }.items():
        assert lock.files[path] == digest_of_bytes(file.read_bytes())


def test_what_is_written_is_canonical_and_reads_back(lock: Lock) -> None:
    text = lock.to_text()
    assert parse(text.encode(), "here") == lock
    document = tomllib.loads(text)
    schema().validate(document)
    tables = [line for line in text.splitlines() if line.startswith("[")]
    assert tables[:3] == ["[versions]", "[plugins]", "[sections]"]
    assert '[rule_sets."skills@1.1.0".formulas]' in tables
    assert list(document["files"]["scoring"]) == sorted(document["files"]["scoring"])
    assert text.startswith("format = 1\n\n[versions]\n")
    assert text.endswith('"\n')
    assert "\n\n\n" not in text


def test_another_spelling_says_the_same(lock: Lock) -> None:
    text = lock.to_text().replace(" = ", "=   ").replace("\n", "  # a comment\n")
    assert parse(text.encode(), "here") == lock


def test_names_of_any_kind_survive() -> None:
    odd = {'a "quoted"\\\x7f\n name': D, "späß": D, "plain": D}
    rules = LockedRuleSet(D, odd, {}, {}, "mine.toml", D)
    lock = Lock({"x": "1"}, {"acme/é": "acme.plugin"}, {}, odd, odd, {"r@1.0.0": rules})
    assert parse(lock.to_text().encode(), "here") == lock


CHANGES: dict[str, Callable[[Json], object]] = {
    "another format": lambda d: d.update(format=2),
    "a truth for the format": lambda d: d.update(format=True),
    "no format": lambda d: d.pop("format"),
    "an unknown table": lambda d: d.update(more={}),
    "no versions": lambda d: d.pop("versions"),
    "versions that are text": lambda d: d.update(versions="x"),
    "an empty version": lambda d: d["versions"].update(tallystick=""),
    "a number for a version": lambda d: d["versions"].update(numpy=2),
    "a short digest": lambda d: d["files"]["state"].update(x="sha256:00"),
    "an upper-case digest": lambda d: d["files"]["state"].update(x=D.replace("0", "A")),
    "a plugin without a module": lambda d: d["plugins"].update(skills=""),
    "a plugin that is a table": lambda d: d["plugins"].update(skills={"x": "y"}),
    "no rule sets": lambda d: d["rule_sets"].clear(),
    "no formulas": lambda d: d["rule_sets"]["skills@1.1.0"].pop("formulas"),
    "an unknown key": lambda d: d["rule_sets"]["skills@1.1.0"].update(vectors=1),
    "a path without a text": lambda d: d["rule_sets"]["skills@1.1.0"].update(path="a"),
    "a text without a path": lambda d: d["rule_sets"]["skills@1.1.0"].update(text=D),
    "an empty path": lambda d: d["rule_sets"]["skills@1.1.0"].update(path="", text=D),
    "an absolute path": lambda d: d["rule_sets"]["skills@1.1.0"].update(path="/dev/zero", text=D),
    "a path above": lambda d: d["rule_sets"]["skills@1.1.0"].update(path="a/../../b", text=D),
    "the folder above": lambda d: d["rule_sets"]["skills@1.1.0"].update(path="..", text=D),
    "a path of no file": lambda d: d["rule_sets"]["skills@1.1.0"].update(path="a\0b", text=D),
    "no files": lambda d: d["files"].pop("scoring"),
    "a file without a digest": lambda d: d["files"]["scoring"].update({"x.py": 1}),
    "files that are a list": lambda d: d["files"].update(state=[]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_the_schema_refuses_is_refused_with_its_place(lock: Lock, name: str) -> None:
    document = tomllib.loads(lock.to_text())
    CHANGES[name](document)
    assert not schema().is_valid(document)
    with pytest.raises(InputError, match=r"^the\.lock: "):
        parse(_toml(document).encode(), "the.lock")


def _toml(document: Json, path: str = "") -> str:
    """A document as TOML, each value with its whole path."""
    if isinstance(document, dict) and (document or not path):
        return "".join(
            _toml(value, f"{path}.{json.dumps(key)}" if path else json.dumps(key))
            for key, value in document.items()
        )
    return f"{path} = {'{}' if document == {} else json.dumps(document)}\n"


def test_more_files_than_a_lock_may_have_are_refused(lock: Lock) -> None:
    many = {f"f{number}": D for number in range(MOST_FILES + 1)}
    with pytest.raises(InputError, match="files, expected at most 20000"):
        parse(attrs.evolve(lock, files=many).to_text().encode(), "the.lock")


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "found the format 'none', expected 1"),
        (b"\xff", "found no TOML"),
        (b"format = 1\nformat = 1\n", "found no TOML"),
        (b"a = " + b"[" * 5000, "found no TOML"),
        (b"x" * (LARGEST + 1), "found more than 8388608 bytes"),
    ],
    ids=["empty", "not UTF-8", "a duplicate key", "too deep", "too large"],
)
def test_a_file_that_is_no_lock_is_told(tmp_path: Path, data: bytes, told: str) -> None:
    path = tmp_path / "tallystick.lock"
    path.write_bytes(data)
    with pytest.raises(InputError, match=told):
        read(path)
    found = run("lock", "--check", path)
    assert found.status == 2
    assert told in message_of(found)


def test_a_lock_cut_anywhere_is_refused_or_another_lock(lock: Lock) -> None:
    data = lock.to_text().encode()
    for end in range(0, len(data), 997):
        with suppress(InputError):
            assert parse(data[:end], "the.lock") != lock


def test_where_there_is_no_lock_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = run("lock", "--check")
    assert found.status == 2
    assert "found no tallystick.lock of your own in the working folder" in message_of(found)
    absent = run("lock", "--check", "absent.lock")
    assert "absent.lock: the lock cannot be read (no such file" in message_of(absent)


def test_a_lock_that_another_can_write_holds_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lock: Lock
) -> None:
    """As with settings, whose tests try each way; a lock that is named is the one that is meant."""
    monkeypatch.chdir(tmp_path)
    write(lock, tmp_path / "tallystick.lock")
    assert run("lock", "--check").status == 0
    reason = open_folder(tmp_path)
    found = run("lock", "--check")
    assert found.status == 2
    assert "error: found no tallystick.lock of your own in the working folder" in found.err
    assert f"warning: {tmp_path / 'tallystick.lock'}: ignored, {reason}" in found.err
    assert run("lock", "--check", tmp_path / "tallystick.lock").status == 0
