"""A daemon beside an old validator: it sends no row, and the chain's is compared with its own."""

import asyncio
from decimal import Decimal
from pathlib import Path

from cli.command import run
from validator.daemons import (
    ALICE,
    EPOCH_BLOCKS,
    LAG,
    NETUID,
    NETWORK,
    RULES,
    chain_in,
    lines,
    network,
    records,
)
from validator.states import begun

from tallystick_chain.simulated.hotkeys import hotkey_of
from tallystick_validator.validator import Options, Validator


def test_the_row_of_the_chain_stands_beside_that_of_the_state(tmp_path: Path) -> None:
    chain, state = chain_in(tmp_path, [ALICE]), begun(tmp_path / "subnet.db", RULES)
    file = tmp_path / "network.toml"
    file.write_text(NETWORK)

    async def close() -> None:
        options = Options(sets_weights=False)
        view = chain.as_hotkey(ALICE)
        async with Validator(state, network(), view, tmp_path / "d", options=options) as validator:
            validator.intake.take(lines(records(ALICE, 0, 8)))
            chain.advance(EPOCH_BLOCKS + 2 * LAG)
            assert (await validator.step()).closed == (0,)

    asyncio.run(close())
    assert not [entry for entry in chain.now().log if entry.kind == "row"]
    command = ("chain", "weights", "--chain", f"simulate:{chain.path}", "--network", file)
    on_state = ("--state", state, "--json")
    none = run(*command, "--hotkey", ALICE, *on_state).json()
    assert none["difference"] == "0.500000000"
    entries = none["entries"]
    assert sum(Decimal(entry["state"]) for entry in entries) == 1
    assert {entry["chain_uint16"] for entry in entries} == {0}

    # what the old validator sends: the same proportions, then all of it to one
    same = tuple((entry["uid"], entry["state_uint16"]) for entry in entries)
    for pairs in (same, ((entries[0]["uid"], 65535),)):
        chain.as_hotkey(ALICE).submit_row(NETUID, 0, pairs, 0, 1.0)
        chain.advance(LAG + 2)
        shown = run(*command, "--hotkey", ALICE, *on_state).json()
        others = sum(Decimal(entry["state"]) for entry in entries[1:])
        assert Decimal(shown["difference"]) == (0 if pairs == same else others)
    text = run(*command, "--hotkey", ALICE, "--state", state).out
    assert f"difference  {others}" in text
    unknown = run(*command, "--hotkey", hotkey_of("nobody"), "--state", state)
    assert unknown.status == 2
    assert "found no uid of" in unknown.err
