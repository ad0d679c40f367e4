"""Files of an earlier version are read by this one, to the same digests.

Each folder is of one version: a store with epoch 0 closed and epoch 1 open, a facts file, a lock,
and the history that all are of. ``figures.json`` has what that version made of them.
"""

import gzip
import hashlib
import json
import shutil
import tomllib
from pathlib import Path

import pytest
from cli.command import run

FOLDER = Path(__file__).parent
VERSIONS = sorted(each.name for each in FOLDER.iterdir() if (each / "figures.json").exists())
RULES = "skills@1.2.0"
MEANS_THE_SAME = "every formula, requirement, schema and rule set means what is locked"


@pytest.fixture(params=VERSIONS)
def before(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of what a version wrote, and its store unpacked."""
    folder = tmp_path / request.param
    shutil.copytree(FOLDER / request.param, folder)
    (folder / "subnet.db").write_bytes(gzip.decompress((folder / "subnet.db.gz").read_bytes()))
    return folder


def figure(folder: Path, name: str) -> str:
    """One of the digests that the version made."""
    return str(json.loads((folder / "figures.json").read_text(encoding="utf-8"))[name])


def state_digest(store: Path) -> str:
    return run("state", "digest", "--state", store).out.split()[0]


def test_versions_are_found() -> None:
    assert "0.1.0" in VERSIONS


def test_a_store_opens_verifies_and_goes_on_to_the_same_digest(before: Path) -> None:
    store = before / "subnet.db"
    assert state_digest(store) == figure(before, "open_state")
    assert run("state", "verify", "--state", store).status == 0
    assert run("epoch", "close", "--epoch", "1", "--state", store).status == 0
    assert state_digest(store) == figure(before, "closed_state")


def test_a_facts_file_is_scored_to_the_bytes_of_its_records(before: Path) -> None:
    for source in ("facts.parquet", "history.jsonl"):
        done = run("score", before / source, "--rules", RULES, "-o", before / "results.jsonl")
        assert done.status == 0, done.err
        found = hashlib.sha256((before / "results.jsonl").read_bytes()).hexdigest()
        assert f"sha256:{found}" == figure(before, "results")


def test_a_lock_of_other_code_is_compared_and_pins_the_same_rules(before: Path) -> None:
    lock, new = before / "tallystick.lock", before / "new.lock"
    compared = run("lock", "--check", lock)
    assert run("lock", "--rules", RULES, "-o", new).status == 0
    old, now = (tomllib.loads(each.read_text(encoding="utf-8")) for each in (lock, new))
    assert old["rule_sets"] == now["rule_sets"]
    assert compared.status == int(old != now)
    assert old == now or MEANS_THE_SAME in compared.err
    scored = ("score", before / "history.jsonl", "--rules", RULES, "-o", before / "results.jsonl")
    assert run(*scored, "--locked", "--lock", new).status == 0
    assert run(*scored, "--locked", "--lock", lock).status == compared.status
