"""A validator of a subnet, whole: simulated miners, a simulated chain, weights, one state.

The loop of the subnet template, with its scores, its window and its weights replaced:

    python run.py --epochs 30 --seed 1

It prints what the chain has at the end, and the digest of the state last. Whoever runs it with the
same seed gets the same digest.
"""

import argparse
import asyncio
import json
import random
import tempfile
from pathlib import Path

import tallystick
from tallystick_chain.network import Network
from tallystick_chain.simulated.hotkeys import hotkey_of
from tallystick_chain.simulated.model import Hyperparameters
from tallystick_chain.simulated.simulation import SimulatedChain

NETWORK = """
format = 1
network = { name = "example", netuid = 7, anchor_block = 20 }
rounds = { blocks = 3 }
epochs = { rounds = 4 }
weights = { at = 4 }
miners = { types = "all", validators_from_rao = 1 }
"""
VALIDATOR = hotkey_of("validator")
MINERS = [hotkey_of(f"miner {number}") for number in range(12)]


def begun_chain(netuid: int) -> SimulatedChain:
    """A subnet with a validator and its miners, at the first block of epoch 0."""
    chain = SimulatedChain(finality_lag=2)
    rules = Hyperparameters(rate_limit_blocks=5, commit_reveal=False, min_allowed=1)
    chain.create_subnet(netuid, rules)
    chain.register(netuid, VALIDATOR, stake_rao=10**12, permit=True)
    for miner in MINERS:
        chain.register(netuid, miner)
    chain.advance(20)
    return chain


def forward(number: int, dice: random.Random) -> list[bytes]:
    """Ask every miner a task; give a record of what each answer is worth."""
    records = []
    for skill, miner in enumerate(MINERS):
        reward = round(min(1.0, skill / 12 + dice.random() / 4), 6)
        record = {"skill_type": "reward", "task_id": f"task-{number}", "miner": {"hotkey": miner}}
        records.append(json.dumps(record | {"checks": {"reward": reward}}).encode())
    return records


async def run(epochs: int, seed: int, folder: Path) -> str:
    """Run the loop; give the digest of the state."""
    network, dice = Network.parse(NETWORK, "network.toml"), random.Random(seed)
    chain = begun_chain(network.netuid)
    state = folder / "subnet.db"
    tallystick.Ledger.create(state, "reward@1.0.0", network=network.digest).close()
    view = chain.as_hotkey(VALIDATOR)
    async with tallystick.Validator(state, network, view, folder / "daemon") as validator:
        while validator.ledger.open_epoch() < epochs:
            await validator.look()
            block = view.head().best
            if block < network.first_block(epochs):
                # a record is durable once it is answered: whoever is killed now loses none
                answers = validator.intake.take(forward(block, dice))
                assert all(answer.status == "recorded" for answer in answers), answers
            chain.advance(network.round_blocks)
            await validator.step()
        neurons = view.neurons(network.netuid, view.head().finalized)
        uid = next(neuron.uid for neuron in neurons if neuron.hotkey == VALIDATOR)
        row = view.row(network.netuid, 0, uid, view.head().finalized)
        print(f"{epochs} epochs, {len(MINERS)} miners; uid: weight on the chain")
        print("  ".join(f"{miner}: {weight}" for miner, weight in row))
        with validator.ledger.queries() as queries:
            return queries.digest()


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--epochs", type=int, default=30)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(asyncio.run(run(given.epochs, given.seed, Path(folder))))
