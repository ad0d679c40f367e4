"""The plugin, loaded as its entry point would be, and records of its types."""

from pathlib import Path

import pytest
from third_party.blend_releases import PROJECT, loaded, release_1_1

import tallystick
from tallystick.plugins.registry import Registry
from tallystick.scoring.scorer import Scorer
from tallystick_conformance.testing.history import history_of


@pytest.fixture(scope="session")
def plugins() -> Registry:
    found = loaded(PROJECT)
    assert found.refused == {}
    return found


@pytest.fixture(scope="session")
def blend(plugins: Registry) -> Scorer:
    return tallystick.load("blend@1.0.0", registry=plugins)


@pytest.fixture(scope="session")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Registry:
    """The plugins with release 1.1.0."""
    found = loaded(release_1_1(tmp_path_factory.mktemp("newer") / "project"))
    assert found.refused == {}
    return found


@pytest.fixture(scope="session")
def records(plugins: Registry) -> list[bytes]:
    """A history of two epochs, good records only."""
    types = plugins.plugins["blend"].skill_types
    history = history_of(11, types, miners=24, validators=2, epochs=2, rounds=4)
    return list(history.lines(900))


@pytest.fixture(scope="session")
def history(records: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "records.jsonl"
    path.write_bytes(b"".join(records))
    return path
