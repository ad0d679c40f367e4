"""A validator's process that is killed anywhere sets each row once, on a chain's own process."""

from pathlib import Path
from typing import Any

import pytest
from chain.processes import SetterProcess, simulated_process
from chain.setting import MINERS, NETUID, VALIDATOR

from tallystick_chain.network import Network
from tallystick_chain.simulated.calls import Fault, RowCall
from tallystick_chain.simulated.client import Control

NETWORK = """format = 1
[network]
name = "demo"
netuid = 7
anchor_block = 10
[rounds]
blocks = 10
[epochs]
rounds = 4
[weights]
at = 2
"""


def _weights(epoch: int) -> dict[str, Any]:
    weights = {hotkey: 1000 * place + epoch + 1 for place, hotkey in enumerate(MINERS)}
    return {"epoch": epoch, "weights": weights, "version_key": 5}


def _subnet(folder: Path, *, commit_reveal: bool) -> Path:
    neurons = [f'hotkey = "{VALIDATOR}"\nstake_rao = 9\npermit = true']
    neurons += [f'hotkey = "{hotkey}"' for hotkey in MINERS]
    text = "".join(f"[[subnet.neuron]]\n{neuron}\n" for neuron in neurons)
    path = folder / "chain.toml"
    values = f"tempo = 15\nrate_limit_blocks = 4\nmin_allowed = 1\ncommit_reveal = {commit_reveal}"
    head = (
        f"format = 1\n[[subnet]]\nnetuid = {NETUID}\n[subnet.hyperparameters]\n{values.lower()}\n"
    )
    path.write_text(head + text, encoding="utf-8")
    return path


def _set_once(folder: Path, die: int, fault: str | None, *, commit_reveal: bool) -> int:
    """Set the row of an epoch, killed once; gives how often it was killed."""
    folder.mkdir(exist_ok=True)
    file = folder / "network.toml"
    file.write_text(NETWORK, encoding="utf-8")
    network = Network.load(file)
    with simulated_process(_subnet(folder, commit_reveal=commit_reveal)) as url:
        control = Control(url)
        if fault is not None:
            control.inject(Fault(fault, "row", blocks=5, hangs=False))  # type: ignore[arg-type]  # one of its words
        arguments = (url, VALIDATOR, str(file), str(folder / "journal"), "5")
        process = SetterProcess(arguments, die)
        try:
            status = None
            control.advance(network.weights_block(0) - control.head().best)
            while control.head().best < network.end_block(0) + 60:
                control.advance(2)
                status = process.advance(_weights(0))
            assert status is not None
            assert status["outcomes"] == {"0": "set"}
        finally:
            process.end()
        sent = [entry for entry in control.log() if entry.kind in {"row", "committed"}]
        rows = [entry.call.pairs for entry in sent if isinstance(entry.call, RowCall)]
        assert len(rows) == 1
        assert not control.log(retracted=True)
        control.close()
    return process.deaths


@pytest.mark.nightly
@pytest.mark.parametrize("commit_reveal", [False, True])
@pytest.mark.parametrize("fault", [None, "lost", "landed", "late", "wrong-fork"])
def test_killed_at_any_step_it_sets_each_row_once(
    tmp_path: Path, fault: str | None, commit_reveal: bool
) -> None:
    die = 0
    while _set_once(tmp_path / str(die), die, fault, commit_reveal=commit_reveal):
        die += 1
    # intent, call, answer and outcome, before and behind each
    assert die >= 8
