"""The digest of code: what it covers, and that one source has one digest wherever it lies."""

from __future__ import annotations

import json
import os
import py_compile
import shutil
import sys
import types
import zipfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

import tallystick
from tallystick.canonical import digest
from tallystick.errors import PluginError
from tallystick.plugins.code import (
    DEPENDENCIES,
    Code,
    closure_files,
    engine_digest,
    package_files,
    plugin_digest,
)
from tallystick.resources import folder
from tallystick.scoring.facts.run import extract_file

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {
    "__init__.py": b'"""A plugin."""\n',
    "plugin.py": b"raise SystemExit('imported')\n",
    "inner/__init__.py": b"",
    "inner/table.json": b'{"a": 1}\n',
    "words.dat": b"one\r\ntwo\0",
    ".hidden": b"",
}

Patch = pytest.MonkeyPatch


@pytest.fixture
def package(tmp_path: Path, monkeypatch: Patch) -> Path:
    """The package ``acme_code``, which can be imported and is not."""
    monkeypatch.syspath_prepend(tmp_path)
    return written(tmp_path / "acme_code")


def written(place: Path) -> Path:
    for name, data in SOURCES.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return place


def digested(module: str = "acme_code.plugin") -> str | None:
    package_files.cache_clear()
    try:
        return plugin_digest(module)
    finally:
        package_files.cache_clear()


def test_it_is_the_digest_of_a_list_of_names_sizes_and_hashes(package: Path) -> None:
    import hashlib  # as the documents say it, once more

    listed = [
        [name, len(data), hashlib.sha256(data).hexdigest()]
        for name, data in sorted(SOURCES.items())
    ]
    assert digested() == digested("acme_code") == digest(listed)
    assert not {name for name in sys.modules if name.startswith("acme_code")}
    assert package.is_dir()


@pytest.mark.parametrize(
    "change",
    [
        lambda p: (p / "plugin.py").write_bytes(b"raise SystemExit('Imported')\n"),
        lambda p: (p / "inner" / "table.json").write_bytes(b'{"a": 2}\n'),
        lambda p: (p / "words.dat").write_bytes(b"one\ntwo\0"),
        lambda p: (p / ".hidden").write_bytes(b"\0"),
        lambda p: (p / ".hidden").unlink(),
        lambda p: (p / "words.dat").rename(p / "word.dat"),
        lambda p: (p / "words.dat").rename(p / "inner" / "words.dat"),
        lambda p: (p / "more.so").write_bytes(b""),
        lambda p: (p / "orphan.pyc").write_bytes(b"which is imported as orphan"),
    ],
)
def test_every_file_counts(package: Path, change: Callable[[Path], object]) -> None:
    before = digested()
    change(package)
    assert digested() != before


@pytest.mark.parametrize(
    "change",
    [
        lambda p: py_compile.compile(str(p / "plugin.py")),
        lambda p: py_compile.compile(str(p / "plugin.py"), cfile=str(p / "plugin.pyc")),
        lambda p: (p / "plugin.py").write_bytes(b"raise SystemExit('imported')\r\n"),
        lambda p: (p / "inner" / "table.json").write_bytes(b'{"a": 1}\r\n'),
        lambda p: (p / "empty").mkdir(),
        lambda p: (p / ".#plugin.py").symlink_to("nobody@nowhere.1"),
        lambda p: os.utime(p / "plugin.py", (0, 0)),
        lambda p: (p.parent / "acme_code-1.0.dist-info").mkdir(),
    ],
)
def test_bytecode_line_ends_times_and_records_of_an_installation_do_not(
    package: Path, change: Callable[[Path], object]
) -> None:
    before = digested()
    change(package)
    assert digested() == before


def test_what_a_link_leads_to_counts_as_if_it_were_there(package: Path, tmp_path: Path) -> None:
    before = digested()
    shutil.move(package / "inner", tmp_path / "elsewhere")
    shutil.move(package / "words.dat", tmp_path / "words")
    (package / "inner").symlink_to(tmp_path / "elsewhere")
    (package / "words.dat").symlink_to(tmp_path / "words")
    assert digested() == before
    shutil.move(package, tmp_path / "moved")
    package.symlink_to(tmp_path / "moved")
    assert digested() == before


def test_what_is_no_file_is_told(package: Path) -> None:
    (package / "inner" / "round").symlink_to(package)
    with pytest.raises(PluginError, match="round: found a link in a circle, expected files"):
        digested()
    (package / "inner" / "round").unlink()
    os.mkfifo(package / "pipe")
    with pytest.raises(PluginError, match="pipe: found no file, expected one: remove it"):
        digested()


def test_a_module_alone_is_its_one_file(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "acme_single.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    before = digested("acme_single")
    (tmp_path / "beside.py").write_text("", encoding="utf-8")
    assert digested("acme_single") == before is not None


def test_a_package_in_a_namespace_is_that_package(package: Path, monkeypatch: Patch) -> None:
    before = digested()
    shutil.copytree(package, package.parent / "acme_space" / "acme_code")
    (package.parent / "acme_space" / "other.py").write_text("", encoding="utf-8")
    monkeypatch.delitem(sys.modules, "acme_space", raising=False)
    assert digested("acme_space.acme_code.plugin") == before
    monkeypatch.delitem(sys.modules, "acme_space", raising=False)


def test_what_is_in_no_files_has_no_digest(tmp_path: Path, monkeypatch: Patch) -> None:
    with zipfile.ZipFile(tmp_path / "code.zip", "w") as archive:
        for name, data in SOURCES.items():
            archive.writestr(f"acme_zipped/{name}", data)
    monkeypatch.syspath_prepend(tmp_path / "code.zip")
    monkeypatch.setitem(sys.modules, "acme_made", types.ModuleType("acme_made"))
    assert digested("acme_zipped.plugin") is None
    assert digested("acme_made") is None
    assert digested("acme_nowhere.plugin") is None
    assert digested("") is None


def test_the_engine_covers_its_schemas_and_no_rule_set(monkeypatch: Patch, tmp_path: Path) -> None:
    def data(name: str) -> Path:
        return tmp_path / name if (tmp_path / name).is_dir() else folder(name)

    monkeypatch.setattr("tallystick.resources.folder", data)
    before = _engine()
    for name in ("rules", "schemas"):
        shutil.copytree(folder(name), tmp_path / name)
    (tmp_path / "rules" / "skills" / "1.0.0.toml").write_bytes(b"")
    (tmp_path / "schemas" / "lock-1.schema.json").write_bytes(b"")
    assert _engine() == before
    (tmp_path / "schemas" / "record-1.schema.json").write_bytes(b"{}")
    assert _engine() != before


def _engine() -> str:
    closure_files.cache_clear()
    try:
        return engine_digest()
    finally:
        closure_files.cache_clear()


def test_receipts_tell_the_code(tmp_path: Path) -> None:
    scorer = tallystick.load("workflow@1.1.0")
    code = Code.of(scorer.registry, ["allocation"])
    assert code.engine == engine_digest()
    assert dict(code.plugins) == {"workflow": plugin_digest("tallystick_workflow.plugin")}
    assert dict(code.dependencies) == {name: version(name) for name in DEPENDENCIES}
    examples = ROOT / "plugins" / "tallystick_workflow" / "examples.jsonl"
    receipt = scorer.score_file(examples, tmp_path / "out.csv")
    assert receipt.code == code
    sections = {"allocation": plugin_digest("tallystick_allocation.section")}
    told = json.loads((tmp_path / "out.csv.receipt.json").read_bytes())
    assert told["code"] == {
        "engine": code.engine,
        "plugins": dict(code.plugins),
        "dependencies": dict(code.dependencies),
        "sections": sections,
    }
    facts = extract_file(examples, tmp_path / "f.parquet", scorer.registry)
    assert facts.code == Code.of(scorer.registry)
    assert "sections" not in facts.to_dict()["code"]
