"""The lock agrees with what the project declares, and nothing is installed beside it."""

import json
import re
import tomllib
from collections.abc import Iterator

import pytest
from packaging.requirements import Requirement
from project.lock import ROOT, entries

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
OF_ITS_OWN = {"bittensor": "only a test compares with it, in an environment that it makes"}
"""Extras that are not locked, with the reason."""
DECIDING = ("jsonschema", "jsonschema-rs", "msgspec", "numpy", "rfc8785", "tomli")
"""What decides which records and rule sets are valid, their scores and their digests."""


def declared(name: str) -> Iterator[Requirement]:
    """What a file of the lock has to have."""
    runtime = PROJECT["project"]["dependencies"]
    build = PROJECT["build-system"]["requires"]
    extras = PROJECT["project"]["optional-dependencies"]
    assert OF_ITS_OWN.keys() < extras.keys()
    every = [text for extra in extras.keys() - OF_ITS_OWN.keys() for text in extras[extra]]
    texts = {"runtime": runtime, "build": build, "test": [*runtime, *build, *every]}
    yield from map(Requirement, texts[name])


def pythons() -> list[str]:
    """The versions of Python that the project declares."""
    found = PROJECT["project"]["classifiers"]
    return [m[1] for each in found if (m := re.fullmatch(r".* :: Python :: (3\.\d+)", each))]


@pytest.mark.parametrize("python", pythons())
@pytest.mark.parametrize("name", ["build", "runtime", "test"])
def test_every_declared_dependency_is_locked_within_its_bounds(name: str, python: str) -> None:
    locked = [each for each in entries(name) if each.is_for(python)]
    versions = {each.requirement.name: each.version for each in locked}
    assert len(versions) == len(locked), "a package is locked twice"
    for wanted in declared(name):
        assert wanted.name in versions, f"{wanted}: run `make lock`"
        assert versions[wanted.name] in wanted.specifier, f"{wanted}: run `make lock`"


@pytest.mark.parametrize("name", ["build", "runtime", "test"])
def test_every_entry_is_one_version_with_hashes(name: str) -> None:
    for entry in entries(name):
        assert entry.version, entry.requirement
        assert entry.hashes, entry.requirement


@pytest.mark.parametrize("name", ["build", "installer", "runtime"])
def test_the_files_are_parts_of_one_lock(name: str) -> None:
    part = {str(each.requirement): each.hashes for each in entries(name)}
    whole = {str(each.requirement): each.hashes for each in entries("test")}
    assert part.items() <= whole.items()


def test_what_npm_installs_has_hashes() -> None:
    wanted, locked = (
        json.loads((ROOT / ".ci" / "lock" / name).read_text(encoding="utf-8"))
        for name in ("package.json", "package-lock.json")
    )
    whole, *packages = locked["packages"].values()
    assert whole["dependencies"] == wanted["dependencies"]
    assert len(packages) >= len(wanted["dependencies"])
    assert all(each["integrity"].startswith("sha512-") for each in packages)
    assert "\tnpm ci " in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_what_decides_has_an_upper_bound() -> None:
    bounds = {each.name: each.specifier for each in declared("runtime")}
    for name in DECIDING:
        assert [each for each in bounds[name] if each.operator == "<"], name


def test_nothing_is_installed_beside_the_lock() -> None:
    """But the lowest versions, which no lock has; what builds the project there is locked too."""
    text = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [" ".join(line.split()) for line in text.splitlines()]
    pip = [line for line in lines if "$(PIP)" in line or re.search(r"-m pip\b.* install\b", line)]
    assert [line.partition(" ")[0] for line in pip] == ["PIP", "LOCKED", "PROJECT"]
    assert "--no-index --no-deps --no-build-isolation" in pip[2]
    uv = [line for line in lines if "uv pip install" in line or "$(UV)" in line]
    assert [line.partition(" ")[0] for line in uv] == ["UV", "UV_LOCKED", "$(UV)"]
    for locked in (pip[1], uv[1]):
        assert "--require-hashes --only-binary :all:" in locked
    assert "--no-build-isolation" in uv[2]
    assert not re.search(r"\bpip\b", (ROOT / ".ci" / "run").read_text(encoding="utf-8"))
