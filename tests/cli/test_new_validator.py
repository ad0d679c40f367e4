"""``tallystick new validator``: what it writes runs, and is no more than is needed."""

import tomllib
from pathlib import Path

import pytest
from cli.command import message_of, run

from tallystick_chain.network import Network
from tallystick_state.ledger import Ledger
from tallystick_validator.configuration import Configuration

TRIAL = ("new", "validator", "trial", "--netuid", "7", "--rules", "reward@1.0.0", "--simulated")
REAL = ("new", "validator", "mine", "--netuid", "7", "--rules", "workflow@1.2.0")
NETWORK = """
format = 1
network = { name = "shared", netuid = 9, anchor_block = 500 }
rounds = { blocks = 60 }
epochs = { rounds = 6 }
exchange = {}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_trial_has_its_chain_and_its_feeder(folder: Path) -> None:
    """That it runs to its first row is what the first hour of the pages shows."""
    done = run(*TRIAL)
    assert (done.status, done.err) == (0, "")
    trial = folder / "trial"
    names = ["feed.py", "simulated.toml", "subnet.db", "tallystick.service", "validator.toml"]
    assert sorted(path.name for path in trial.iterdir()) == names
    configuration = Configuration.load(trial / "validator.toml")
    assert configuration.url == f"simulate:{trial / 'simulated.toml'}"
    compile((trial / "feed.py").read_text(encoding="utf-8"), "feed.py", "exec")


def test_a_real_one_has_all_but_the_key(folder: Path) -> None:
    done = run(*REAL, "--anchor-block", "5040000", "--key", "/keys/hot")
    assert done.status == 0, done
    mine = folder / "mine"
    assert sorted(path.name for path in mine.iterdir()) == [
        *("feed.py", "subnet.db", "tallystick.service", "validator.toml")
    ]
    configuration = Configuration.load(mine / "validator.toml")
    assert (configuration.url, configuration.key) == ("sdk11:finney", Path("/keys/hot"))
    network = configuration.network
    assert isinstance(network, Network)
    assert (network.netuid, network.anchor_block, network.epoch_blocks) == (7, 5_040_000, 360)
    assert Network.load(mine / "validator.toml").digest == network.digest
    with Ledger.open(mine / "subnet.db") as ledger:
        assert ledger.in_force.network == network.digest
    assert '"output_quality"' in (mine / "feed.py").read_text().replace("'", '"')


def test_validators_that_share_a_network_file_have_one_digest(folder: Path) -> None:
    (folder / "network.toml").write_text(NETWORK, encoding="utf-8")
    done = run("new", "validator", "mine", "--rules", "reward@1.0.0", "--network", "network.toml")
    assert done.status == 0, done
    configuration = Configuration.load(folder / "mine" / "validator.toml")
    assert configuration.network == folder / "mine" / "network.toml"
    assert "network" not in tomllib.loads((folder / "mine" / "validator.toml").read_text())
    network = Network.load(configuration.network)
    assert network.exchange is not None
    assert (network.exchange.commit_by, network.exchange.vote_by, network.weights_at) == (
        25,
        50,
        50,
    )
    with Ledger.open(folder / "mine" / "subnet.db") as ledger:
        assert ledger.in_force.network == network.digest


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ((), "found no --anchor-block"),
        (("--simulated", "--network", "n.toml"), "found --network with"),
    ],
)
def test_what_does_not_go_together_is_refused(more: tuple[str, ...], message: str) -> None:
    found = run(*REAL, *more)
    assert found.status == 2
    assert message in found.err


def test_a_folder_that_holds_something_is_left_alone(folder: Path) -> None:
    (folder / "trial").mkdir()
    (folder / "trial" / "mine").write_text("x")
    assert "found 'mine' in the folder" in message_of(run(*TRIAL))
    assert [path.name for path in (folder / "trial").iterdir()] == ["mine"]
