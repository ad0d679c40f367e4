"""States that services are about, made once, and services about them."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from service.live import Live, live, made
from trust.council import signer

from tallystick.resources import folder as resource_folder
from tallystick_service.metrics import Observations


@pytest.fixture(scope="session")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("service"))


@pytest.fixture
def own_state(state: Path, tmp_path: Path) -> Path:
    """A copy of the state, which a test may change."""
    return Path(shutil.copy(state, tmp_path / "own.db"))


@pytest.fixture(scope="session")
def closed_state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state whose rules make nothing public, and show a miner its rank alone."""
    folder = tmp_path_factory.mktemp("closed")
    text = (resource_folder("rules") / "skills" / "1.2.0.toml").read_text()
    own, public = 'own = ["reputation", "rank", "dispatched_rounds"]', 'public = ["leaderboards"]'
    assert own in text
    assert public in text
    rules = folder / "rules.toml"
    rules.write_text(text.replace(own, 'own = ["rank"]').replace(public, "public = []"))
    return made(folder, str(rules))


@pytest.fixture(scope="session")
def observations() -> Observations:
    return Observations()


@pytest.fixture(scope="session")
def service(state: Path, observations: Observations) -> Iterator[Live]:
    with live(state, observations=observations, signed_by=signer("validator")) as running:
        yield running


@pytest.fixture(scope="session")
def closed_service(closed_state: Path) -> Iterator[Live]:
    with live(closed_state) as running:
        yield running
