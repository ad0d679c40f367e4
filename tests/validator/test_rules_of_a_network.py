"""A validator and what its rules and the network file say of one thing: immunity, epochs."""

import asyncio
import logging
import re
from pathlib import Path

import pytest
from cli.command import ROOT
from validator.daemons import (
    EPOCH_BLOCKS,
    LAG,
    MINERS,
    NETUID,
    NETWORK,
    RULES,
    chain_of,
    equal_work,
    follow,
    take,
)
from validator.states import begun

from tallystick_chain.chain import Pairs
from tallystick_chain.network import Network
from tallystick_chain.simulated.hotkeys import hotkey_of
from tallystick_state.ledger import Ledger
from tallystick_validator.validator import Validator

ALICE = hotkey_of("alice")


def network(immunity_blocks: int) -> Network:
    return Network.parse(f"{NETWORK}immunity_blocks = {immunity_blocks}\n", "network.toml")


def warming(folder: Path) -> Path:
    """The workflow rules with the steps of their comments, by which who is immune warms up."""
    text = (ROOT / "rules/workflow/1.2.0.toml").read_text(encoding="utf-8")
    _, *warm = re.findall(r"^# (  \{ name = .*\n)", text, re.MULTILINE)
    part = '  { name = "part"'
    warmed = text.replace("share = 0.15", "share = 1").replace(part, "".join(warm) + part)
    path = folder / "rules.toml"
    path.write_text(warmed.replace('of = "mean", zero', 'of = "warm", zero'), encoding="utf-8")
    return path


def row_of(folder: Path, immunity_blocks: int) -> Pairs:
    """The row of epoch 0, shortly before which one miner has registered."""
    folder.mkdir()
    chain = chain_of([ALICE])
    late = hotkey_of("late")
    chain.register(NETUID, late)
    state = folder / "subnet.db"
    Ledger.create(state, warming(folder)).close()

    async def run() -> None:
        net = network(immunity_blocks)
        async with Validator(state, net, chain.as_hotkey(ALICE), folder / "daemon") as validator:
            take(validator, equal_work(ALICE, 0, dict.fromkeys((*MINERS, late), 1)))
            await follow(validator, chain, EPOCH_BLOCKS + LAG + 4)

    asyncio.run(run())
    view = chain.as_hotkey(ALICE)
    # the validator comes after the miners
    return view.row(NETUID, 0, len(MINERS), view.head().best)


def test_immune_miners_warm_up_in_the_row(tmp_path: Path) -> None:
    nobody, new = row_of(tmp_path / "nobody", 0), row_of(tmp_path / "new", EPOCH_BLOCKS + 3)
    assert nobody
    assert new != nobody


@pytest.mark.parametrize("rules", [RULES, "workflow@1.2.0"])
def test_epochs_of_other_lengths_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, rules: str
) -> None:
    state = tmp_path / "subnet.db"
    begun(state, rules)
    chain = chain_of([ALICE]).as_hotkey(ALICE)

    async def run() -> None:
        async with Validator(state, network(0), chain, tmp_path / "daemon") as validator:
            others = {"skills": 100} if rules == RULES else {}
            said = {"network": EPOCH_BLOCKS, "rules": others}
            assert validator.health().facts["epoch_blocks"] == said
            assert validator.health().status == "ok"

    with caplog.at_level(logging.WARNING):
        asyncio.run(run())
    warned = "found epochs of 100 blocks in skills, expected 6" in caplog.text
    assert warned is (rules == RULES)
