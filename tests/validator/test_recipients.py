"""A share that rules or pools give by name is somebody's: paid to them, or no row is sent."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cli.command import ROOT
from validator.daemons import (
    ANCHOR,
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
from tallystick_chain.chain import Pairs
from tallystick_chain.simulated.hotkeys import hotkey_of
from tallystick_chain.simulated.simulation import SimulatedChain
from tallystick_service.health import Problem
from tallystick_state.ledger import Ledger
from tallystick_validator.validator import Validator

pytestmark = pytest.mark.anyio
ALICE, OWNER, BURNER = (hotkey_of(name) for name in ("alice", "owner", "burner"))
BURNER_UID = 2 + len(MINERS)
NETWORK = network()
WORKFLOW = (ROOT / "rules/workflow/1.2.0.toml").read_text(encoding="utf-8")
WEIGHT = next(line for line in WORKFLOW.splitlines() if '{ name = "weight"' in line)


def burning(folder: Path, recipient: str) -> Path:
    """The workflow rules, of whose weight 84 % burn."""
    steps = (
        '{ name = "none", do = "filter", of = "part", above = 1 },',
        (
            '{ name = "weight", do = "mix", of = { part = 0.16, none = 0.84 }, empty = "burn", '
            f"burn = {recipient}, publish = true }},"
        ),
    )
    path = folder / "rules.toml"
    path.write_text(WORKFLOW.replace(WEIGHT, "\n".join(steps)), encoding="utf-8")
    return path


def sharing(folder: Path, recipient: str) -> None:
    """A state of two lines, of which the idle one burns its share."""
    Ledger.create(
        folder / "subnet.db",
        ["workflow@1.2.0", "skills@1.2.0"],
        pools={"workflow": "0.16", "skills": "0.84"},
        idle="burn",
        burn=json.loads(recipient),
    ).close()


def by_rules(folder: Path, recipient: str) -> None:
    Ledger.create(folder / "subnet.db", burning(folder, recipient)).close()


Begin = Callable[[Path, str], None]
MAKERS = pytest.mark.parametrize("begin", [by_rules, sharing])


def row_of(
    folder: Path, change: Callable[[SimulatedChain], object]
) -> tuple[Pairs, tuple[Problem, ...]]:
    """The row of epoch 0 and what health tells, after a change that follows its closing."""
    chain = chain_of([ALICE], owner=OWNER)
    assert chain.register(NETUID, BURNER) == BURNER_UID

    async def run() -> tuple[Problem, ...]:
        async with Validator(
            folder / "subnet.db", NETWORK, chain.as_hotkey(ALICE), folder / "daemon"
        ) as validator:
            take(validator, equal_work(ALICE, 0, dict.fromkeys(MINERS, 1)))
            chain.advance(EPOCH_BLOCKS)
            change(chain)
            await follow(validator, chain, LAG + 5)
            return validator.health().problems

    problems = asyncio.run(run())
    view = chain.as_hotkey(ALICE)
    return view.row(NETUID, 0, len(MINERS), view.head().best), problems


@MAKERS
@pytest.mark.parametrize(
    ("recipient", "uid"),
    [
        ('"owner"', BURNER_UID - 1),
        (f'"{BURNER}"', BURNER_UID),
        (f'"uid:{BURNER_UID}@{ANCHOR + 1}"', BURNER_UID),
    ],
)
def test_who_is_named_is_paid(tmp_path: Path, begin: Begin, recipient: str, uid: int) -> None:
    begin(tmp_path, recipient)
    row, problems = row_of(tmp_path, lambda _: None)
    assert problems == ()
    assert dict(row)[uid] == 65535
    # each of four miners has 0.04 where 0.84 burns
    assert {weight for slot, weight in row if slot != uid} == {3121}
    assert len(row) == 1 + len(MINERS)


@MAKERS
@pytest.mark.parametrize("recipient", [f'"{BURNER}"', f'"uid:{BURNER_UID}@{ANCHOR + 1}"'])
@pytest.mark.parametrize(
    "change",
    [
        lambda chain: chain.register(NETUID, hotkey_of("stranger"), uid=BURNER_UID),
        lambda chain: chain.do("trim", NETUID, uids=[BURNER_UID]),
    ],
)
def test_nobody_is_paid_in_the_place_of_who_is_gone(
    tmp_path: Path, begin: Begin, recipient: str, change: Callable[[SimulatedChain], object]
) -> None:
    begin(tmp_path, recipient)
    row, problems = row_of(tmp_path, change)
    assert row == ()
    assert [(problem.code, problem.failing) for problem in problems] == [("recipient-lost", True)]
    assert "nobody else is given it" in problems[0].message


def test_who_is_left_out_of_a_row_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    by_rules(tmp_path, '"owner"')
    gone = MINERS[2]
    row, problems = row_of(tmp_path, lambda chain: chain.register(NETUID, "5New", uid=2))
    assert len(row) == len(MINERS)
    assert [(problem.code, problem.failing) for problem in problems] == [("unpaid", False)]
    assert f"{gone}: it holds no uid any more" in problems[0].message
    assert gone in [getattr(record, "hotkey", "") for record in caplog.records]


@MAKERS
@pytest.mark.parametrize("recipient", ["5", '"uid:5"'])
def test_a_daemon_does_not_start_with_a_share_for_whoever_holds_a_slot(
    tmp_path: Path, begin: Begin, recipient: str
) -> None:
    begin(tmp_path, recipient)
    with pytest.raises(InputError, match="found a share for uid:5, whoever holds it"):
        row_of(tmp_path, lambda _: None)


async def test_rules_that_no_daemon_can_run_are_told_until_they_are_withdrawn(
    tmp_path: Path,
) -> None:
    by_rules(tmp_path, '"owner"')
    chain, state = chain_of([ALICE], owner=OWNER), tmp_path / "subnet.db"
    later = burning(tmp_path, "5")
    asking = 'do = "one_per", of = "part", key = "miner.ip"'
    text = later.read_text(encoding="utf-8").replace('version = "1.2.0"', 'version = "1.3.0"')
    later.write_text(text.replace('do = "filter", of = "part", above = 1', asking))

    async with Validator(state, NETWORK, chain.as_hotkey(ALICE), tmp_path / "daemon") as validator:
        found = list[set[str]]()
        changes: tuple[Callable[[Ledger], object], ...] = (
            lambda ledger: ledger.adopt(later, 3, major=True),
            Ledger.withdraw,
        )
        for change in changes:
            with Ledger.open(state) as ledger:
                change(ledger)
            await validator.step()
            problems = validator.health().problems
            found.append({problem.code for problem in problems if problem.failing})
        assert found == [{"recipient-unbound", "attribute-missing"}, set()]
