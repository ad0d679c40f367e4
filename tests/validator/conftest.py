"""A validator alone on a chain in memory, and the intake of one; on the event loop of daemons."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from validator.daemons import ALICE, RULES, chain_of, network
from validator.states import begun, opened

from tallystick_chain.simulated.simulation import SimulatedChain
from tallystick_state.ledger import Ledger
from tallystick_validator.admission import Admission
from tallystick_validator.intake import Intake
from tallystick_validator.validator import Validator


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def chain() -> SimulatedChain:
    return chain_of([ALICE])


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return begun(tmp_path / "subnet.db", RULES)


@pytest.fixture
def made(tmp_path: Path, state: Path, chain: SimulatedChain) -> Callable[..., Validator]:
    """A function that makes a daemon of the state, with options."""
    return partial(Validator, state, network(), chain.as_hotkey(ALICE), tmp_path / "daemon")


@pytest.fixture
def validator(made: Callable[..., Validator]) -> Validator:
    return made()


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    with opened(tmp_path_factory.mktemp("state") / "a.db", RULES) as state:
        yield state


@pytest.fixture
def admission(ledger: Ledger) -> Admission:
    return Admission(ledger.scorer, network(), ALICE)


@pytest.fixture
def intake(tmp_path: Path, admission: Admission) -> Iterator[Intake]:
    with Intake(tmp_path / "intake.db", admission) as opened:
        yield opened
