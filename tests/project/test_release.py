"""A release is rehearsed: its notes are the changelog's, and its hashes are of every file."""

import hashlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHANGELOG = """# Changelog

## [Unreleased]

### Scoring

- New.

## [1.2.0] - 2026-01-02

- Faster ([benchmarks](docs/benchmarks.md), [standard](https://example.org/x)).

## [1.1.0] - 2026-01-01

- Older.
"""


@pytest.fixture(scope="module")
def program() -> ModuleType:
    """The last program of `make release`."""
    spec = importlib.util.spec_from_file_location("release", ROOT / ".ci" / "release.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def built(folder: Path, version: str) -> Path:
    """A folder with files of the names that a build of a version has."""
    native = f"tallystick_native-{version}-py3-none-linux_x86_64.whl"
    for name in (f"tallystick-{version}-py3-none-any.whl", f"tallystick-{version}.tar.gz", native):
        (folder / name).write_text(name, encoding="utf-8")
    digest = hashlib.sha256((folder / native).read_bytes()).hexdigest()
    files = {"type": "distribution", "hashes": [{"alg": "SHA-256", "content": digest}]}
    bill = {"components": [{"name": "tallystick-native", "externalReferences": [files]}]}
    (folder / "tallystick.cdx.json").write_text(json.dumps(bill), encoding="utf-8")
    return folder


def test_the_notes_are_the_section_of_the_version_without_links_into_the_checkout(
    program: ModuleType,
) -> None:
    assert program.notes(CHANGELOG, "1.2.0") == (
        "1.2.0",
        "- Faster (benchmarks, [standard](https://example.org/x)).",
    )
    assert program.notes(CHANGELOG, "1.3.0") == ("Unreleased", "### Scoring\n\n- New.")
    with pytest.raises(SystemExit, match=r"found no entries under \[2\.0\.0\]"):
        program.notes("# Changelog\n\n## [Unreleased]\n\n## [1.0.0]\n\n- New.\n", "2.0.0")


def test_every_file_of_the_folder_has_its_hash(program: ModuleType, tmp_path: Path) -> None:
    version = program.version_of(ROOT)
    command = [sys.executable, ROOT / ".ci" / "release.py", built(tmp_path, version)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = (tmp_path / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    found = dict(reversed(line.split("  ")) for line in lines)
    expected = {each.name for each in tmp_path.iterdir()} - {"SHA256SUMS"}
    assert found.keys() == expected
    for name, digest in found.items():
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == digest
    assert told.endswith("\n".join(lines) + "\n")
    notes = (tmp_path / "NOTES.md").read_text(encoding="utf-8")
    assert notes.startswith(f"# Tallystick {version}\n")
    assert "](docs/" not in notes


def test_what_is_not_built_or_of_another_version_is_refused(
    program: ModuleType, tmp_path: Path
) -> None:
    with pytest.raises(SystemExit, match="found nothing, expected a source distribution"):
        program.artefacts(tmp_path, "1.0.0")
    built(tmp_path, "1.0.0")
    assert len(program.artefacts(tmp_path, "1.0.0")) == len(list(tmp_path.iterdir()))
    (native,) = tmp_path.glob("tallystick_native-*")
    native.write_text("other", encoding="utf-8")
    with pytest.raises(SystemExit, match=rf"found no {native.name}: run `make release`"):
        program.artefacts(tmp_path, "1.0.0")
    newer = native.rename(tmp_path / native.name.replace("1.0.0", "1.0.1"))
    with pytest.raises(SystemExit, match=r"found files of 1\.0\.0, 1\.0\.1, expected 1\.0\.0"):
        program.artefacts(tmp_path, "1.0.0")
    # without cargo there is none
    newer.unlink()
    assert len(program.artefacts(tmp_path, "1.0.0")) == len(list(tmp_path.iterdir()))
    with pytest.raises(SystemExit, match=r"found files of 1\.0\.0, expected 1\.0\.1"):
        program.artefacts(tmp_path, "1.0.1")
    (tmp_path / "tallystick.cdx.json").unlink()
    with pytest.raises(SystemExit, match=r"expected a source distribution, a wheel and"):
        program.artefacts(tmp_path, "1.0.0")
