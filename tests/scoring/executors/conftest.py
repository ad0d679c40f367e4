"""A file of records that is cut into many chunks."""

import json
from pathlib import Path

import pytest
from generators import SKILL_TYPES
from generators import lines as made_lines

import tallystick
from tallystick.io import lines, sources

SKILLS = [name for name in SKILL_TYPES if name != "workflow"]


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of some ten records, which is decided by who cuts."""
    monkeypatch.setattr(sources, "CHUNK_BYTES", 12_000)
    monkeypatch.setattr(lines, "BLOCK_BYTES", 2_000)


@pytest.fixture(scope="session")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """600 records, of which some are rejected; epochs rise."""
    found = []
    for number, line in enumerate(made_lines(51, 600, SKILLS)):
        record = json.loads(line) | {"epoch": number // 10}
        found.append(b"{}" if number % 97 == 5 else json.dumps(record).encode())
    path = tmp_path_factory.mktemp("records") / "records.jsonl"
    path.write_bytes(b"\n".join(found))
    return path


@pytest.fixture(scope="session")
def scorer(scorers: dict[str, tallystick.Scorer]) -> tallystick.Scorer:
    return scorers["skills@1.0.0"]
