"""The bill of materials is valid CycloneDX and has what the lock has."""

import importlib.util
import json
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.requirements import Requirement
from project.lock import ROOT, entries

VALIDATOR = JsonStrictValidator(SchemaVersion.V1_6)


@pytest.fixture(scope="module")
def program() -> ModuleType:
    """What `make sbom` runs."""
    spec = importlib.util.spec_from_file_location("sbom", ROOT / ".ci" / "sbom.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def document(program: ModuleType) -> dict[str, Any]:
    return program.document()


def test_it_is_valid(document: dict[str, Any]) -> None:
    assert VALIDATOR.validate_str(json.dumps(document)) is None
    broken = {**document, "components": [{**document["components"][0], "scope": "perhaps"}]}
    assert VALIDATOR.validate_str(json.dumps(broken)) is not None


def test_it_has_every_dependency_as_it_is_locked(document: dict[str, Any]) -> None:
    required = {
        each["name"]: each for each in document["components"] if each["scope"] == "required"
    }
    locked = {
        each.requirement.name: each
        for each in entries("runtime")
        if each.requirement.marker is None or each.requirement.marker.evaluate()
    }
    assert required.keys() == locked.keys()
    for name, found in required.items():
        assert found["version"] == str(locked[name].version)
        assert found["purl"] == f"pkg:pypi/{name}@{found['version']}"
        assert found["licenses"]
        hashes = [each["content"] for each in found["externalReferences"][0]["hashes"]]
        assert sorted(hashes) == sorted(locked[name].hashes)


def test_it_has_what_the_extras_of_users_need(
    program: ModuleType, document: dict[str, Any]
) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert extras.keys() - {"all", "bittensor", "docs", "test"} == set(program.EXTRAS)
    names = {each["name"] for each in document["components"]}
    assert {Requirement(each).name for name in program.EXTRAS for each in extras[name]} < names


def test_every_dependency_of_a_component_is_one(document: dict[str, Any]) -> None:
    known = {each["bom-ref"] for each in document["components"]}
    whole = document["metadata"]["component"]["bom-ref"]
    graph = {each["ref"]: each["dependsOn"] for each in document["dependencies"]}
    assert graph.keys() == known | {whole}
    assert {ref for refs in graph.values() for ref in refs} == known
    assert len(graph[whole]) > 10


@pytest.mark.nightly
def test_it_is_the_same_each_time(
    program: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        monkeypatch.setattr("sys.argv", ["sbom.py", str(tmp_path / "new" / name)])
        program.main()
    assert (tmp_path / "new" / "one").read_bytes() == (tmp_path / "new" / "two").read_bytes()


def test_a_package_that_the_lock_does_not_have_is_told(
    program: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "locked", dict)
    with pytest.raises(SystemExit, match=r"expected altair to be in the lock: run `make test`"):
        program.document()
