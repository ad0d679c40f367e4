"""Attributes come from the chain or from a file; a daemon that lacks one does not start."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
from cli.command import ROOT
from validator.daemons import (
    EPOCH_BLOCKS,
    LAG,
    MINERS,
    NETUID,
    chain_of,
    equal_work,
    follow,
    network,
    take,
)

from tallystick.errors import InputError
from tallystick.plugins.author import (
    UNIT,
    Formula,
    Node,
    Parameters,
    cases,
    hookimpl,
    measure,
    published,
)
from tallystick.plugins.registry import Registry, with_modules
from tallystick_chain.chain import Pairs
from tallystick_chain.simulated.hotkeys import hotkey_of
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify
from tallystick_validator.attributes import MINER_KINDS, AttributeFile
from tallystick_validator.validator import Options, Validator

ALICE, LATE = hotkey_of("alice"), hotkey_of("late")
NETWORK = network("immunity_blocks = 1000\n")
WORKFLOW = (ROOT / "rules/workflow/1.2.0.toml").read_text(encoding="utf-8")
PART = next(line for line in WORKFLOW.splitlines() if '{ name = "part"' in line)
WEIGHT = next(line for line in WORKFLOW.splitlines() if '{ name = "weight"' in line)
PARTS = '{ name = "part", do = "share", of = "best", zero = "zero" },'
LAST = '{ name = "weight", do = "share", of = "part", publish = true },'
AVERAGE = (
    '{ name = "weight", do = "average", of = "part", new = 0.5, leaver = "drop", '
    "normalise = true, publish = true },"
)
FIRST = '{ name = "best", do = "top", of = "mean", k = 1, ties = "digest", salt = "round.salt" },'
RESERVE = (
    '{ name = "weight", do = "reserve", of = "part", key = "round.key", share = "round.share", '
    "publish = true },"
)


tallystick_api = 1


@measure("numbers/stake@1", within=UNIT)
def stake(_: Parameters) -> Node:
    """Whether a miner has 5 rao, in units of 10⁹."""
    return cases((published("miner.stake") * 10**9 == 5, 1), otherwise=0)


@measure("numbers/registered-block@1", within=UNIT)
def registered_block(_: Parameters) -> Node:
    """Whether a miner was registered at block 10 or later."""
    return cases((published("miner.registered_block") >= 10, 1), otherwise=0)


@hookimpl
def tallystick_formulas() -> Sequence[Formula]:
    """The formulas that read numbers of miners."""
    return [stake, registered_block]


def state_of(folder: Path, *steps: str, registry: Registry | None = None) -> Path:
    """A state under the workflow rules with other steps after the mean."""
    path = folder / "rules.toml"
    path.write_text(WORKFLOW.replace(WEIGHT, "").replace(PART, "\n".join(steps)), encoding="utf-8")
    Ledger.create(folder / "subnet.db", path, registry=registry).close()
    return folder / "subnet.db"


@attrs.frozen
class Run:
    """Two epochs of a daemon, with equal work of all miners, of whom one has come late."""

    row: Pairs
    digest: str
    problems: tuple[str, ...]


def run(folder: Path, file: Mapping[str, Any] | None = None) -> Run:
    chain = chain_of([ALICE])
    twin = hotkey_of("twin")
    uids = {hotkey: uid for uid, hotkey in enumerate(MINERS)}
    uids[LATE] = chain.register(NETUID, LATE, coldkey="5Cold", stake_rao=5, permit=True)
    uids[twin] = chain.register(NETUID, twin, coldkey="5Cold")
    attributes = folder / "round.json"
    attributes.write_text(json.dumps({"format": 1, **(file or {})}))
    options = Options(attributes=attributes)

    async def runs() -> tuple[str, tuple[str, ...]]:
        async with Validator(
            folder / "subnet.db",
            attrs.evolve(NETWORK, miners=attrs.evolve(NETWORK.miners, validators_from_rao=10)),
            chain.as_hotkey(ALICE),
            folder / "daemon",
            options=options,
        ) as validator:
            for epoch in range(2):
                take(validator, equal_work(ALICE, epoch, uids))
                await follow(validator, chain, EPOCH_BLOCKS)
            await follow(validator, chain, LAG + 4)
            with validator.ledger.queries() as queries:
                digest = queries.digest()
            assert verify(validator.ledger).entries
            problems = tuple(problem.message for problem in validator.health().problems)
            return digest, problems

    digest, problems = asyncio.run(runs())
    view = chain.as_hotkey(ALICE)
    return Run(view.row(NETUID, 0, len(MINERS), view.head().best), digest, problems)


def reading(name: str) -> str:
    """A step by an attribute of a miner."""
    kind = MINER_KINDS[name]
    do = {
        "a text": f'do = "one_per", of = "mean", key = "miner.{name}"',
        "a flag": f'do = "equal", of = "mean", where = "miner.{name}"',
        "a number": f'do = "formula", formula = "numbers/{name.replace("_", "-")}@1"',
    }[kind]
    return f'{{ name = "best", {do} }},'


@pytest.mark.parametrize(
    ("best", "last", "paid"),
    [
        # one of the miners without a coldkey, and one of the two that share one
        (reading("coldkey"), LAST, 2),
        (reading("coldkey"), AVERAGE, 2),
        # of equals one is drawn by the hash of the last block
        (FIRST, LAST, 1),
        (reading("immune"), LAST, 6),
        (reading("permit"), LAST, 1),
        # the late one alone has some stake; it and its twin registered last
        (reading("stake"), LAST, 1),
        (reading("registered_block"), LAST, 2),
    ],
)
def test_what_the_chain_has_of_a_miner_is_read_and_replayed_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, best: str, last: str, paid: int
) -> None:
    registry = with_modules({"numbers": __name__})
    state_of(tmp_path, best, PARTS, last, registry=registry)
    monkeypatch.setattr(Ledger, "open", partial(Ledger.open, registry=registry))
    found = run(tmp_path)
    assert found.problems == ()
    assert [weight for _, weight in found.row] == [65535] * paid


def test_what_the_chain_lacks_is_in_a_file_which_the_digest_covers(tmp_path: Path) -> None:
    digests = set[str]()
    for share in ("0.25", "0.5"):
        folder = tmp_path / share
        folder.mkdir()
        state_of(folder, PARTS.replace("best", "mean"), RESERVE)
        found = run(folder, {"round": {"key": LATE, "share": share}})
        assert found.problems == ()
        assert max(dict(found.row), key=dict(found.row).__getitem__) == len(MINERS) + 1
        digests.add(found.digest)
    # peers compare it
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("steps", "file", "message"),
    [
        ((PARTS.replace("best", "mean"), RESERVE), None, "found nothing that says round.key"),
        (
            (PARTS.replace("best", "mean"), RESERVE),
            {"round": {"key": "5F"}},
            "found nothing that says round.share, a number",
        ),
        (
            (reading("coldkey").replace("coldkey", "ip"), PARTS, LAST),
            None,
            "found nothing that says miner.ip",
        ),
        (
            (reading("coldkey").replace("coldkey", "stake"), PARTS, LAST),
            None,
            "miner.stake, a text",
        ),
        ((FIRST.replace('salt" }', 'seed" }'), PARTS, LAST), None, "round.seed, a text"),
    ],
)
def test_what_nobody_says_is_refused_before_the_first_block(
    tmp_path: Path, steps: tuple[str, ...], file: Mapping[str, Any] | None, message: str
) -> None:
    state_of(tmp_path, *steps)
    with pytest.raises(InputError, match=message):
        run(tmp_path, file)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ({"miners": {"5A": {"coldkey": "5C"}}}, "found coldkey, expected nothing of it"),
        ({"round": {"salt": "5eed"}}, "found salt, expected nothing of it"),
        ({"miners": []}, "found another value as round or miners"),
        ({"rounds": {}}, "found no file of a round"),
    ],
)
def test_a_file_of_attributes_says_what_the_chain_does_not(
    tmp_path: Path, file: Mapping[str, Any], message: str
) -> None:
    path = tmp_path / "round.json"
    path.write_text(json.dumps({"format": 1, **file}))
    with pytest.raises(InputError, match=message):
        AttributeFile.load(path)
