"""Health: each code of a loop that looks alive and is not, set and cleared."""

import os
import shutil
from collections.abc import Callable
from functools import reduce
from pathlib import Path

import attrs
import pytest
from validator.daemons import (
    ALICE,
    EPOCH_BLOCKS,
    LAG,
    NETUID,
    NETWORK,
    RULES,
    lines,
    network,
    records,
)
from validator.states import begun

from tallystick.cli.locked import NoLock
from tallystick.errors import OutputError, StateError, StoreError, TrustError
from tallystick_chain.chain import ChainError, Refusal
from tallystick_chain.simulated.hotkeys import hotkey_of
from tallystick_chain.simulated.simulation import SimulatedChain
from tallystick_service.health import Problem
from tallystick_validator.configuration import Configuration
from tallystick_validator.daemon import Daemon
from tallystick_validator.validator import Options, Validator

pytestmark = pytest.mark.anyio
Made = Callable[..., Validator]


def told(validator: Validator) -> dict[str, Problem]:
    return {problem.code: problem for problem in validator.health().problems}


def take(validator: Validator, epoch: int, of: str = ALICE) -> set[str]:
    answers = validator.intake.take(lines(records(of, epoch, 6)))
    return {answer.code or answer.status for answer in answers}


async def test_epochs_without_a_record_are_told_until_one_has_some(
    validator: Validator, chain: SimulatedChain
) -> None:
    async with validator:
        assert take(validator, 0) == {"recorded"}
        chain.advance(EPOCH_BLOCKS + LAG)
        await validator.step()
        assert validator.health().status == "ok"
        chain.advance(13 * EPOCH_BLOCKS)
        await validator.step()
        assert "in the epochs 1 to 13" in told(validator)["no-records"].message
    async with validator:
        await validator.step()
        assert "no-records" in told(validator)
        take(validator, 14)
        chain.advance(EPOCH_BLOCKS)
        assert (await validator.step()).closed == (14,)
        assert "no-records" not in told(validator)


async def test_rejects_are_told_by_code_until_an_epoch_has_none(
    validator: Validator, chain: SimulatedChain
) -> None:
    async with validator:
        await validator.look()
        assert take(validator, 0, of=hotkey_of("bob")) == {"other-validator"}
        chain.advance(EPOCH_BLOCKS + 2 * LAG)
        await validator.step()
        assert {"no-records", "no-weights"} <= {*told(validator)}
        assert all("round close" not in problem.message for problem in told(validator).values())
        problem = told(validator)["records-rejected"]
        assert "6 other-validator" in problem.message
        assert "chain.key" in problem.remedy
        for _ in range(2):
            chain.advance(EPOCH_BLOCKS)
            await validator.step()
        assert "records-rejected" not in told(validator)
        assert take(validator, 3) == {"recorded"}
        chain.advance(EPOCH_BLOCKS + LAG)
        await validator.step()
        assert validator.health().status == "ok"


@pytest.mark.parametrize("sets_weights", [True, False])
async def test_who_can_set_no_row_is_told_at_the_start(
    tmp_path: Path, state: Path, chain: SimulatedChain, sets_weights: bool
) -> None:
    options, bob = Options(sets_weights=sets_weights), hotkey_of("bob")
    daemon = tmp_path / "daemon"
    async with Validator(
        state, network(), chain.as_hotkey(bob), daemon, options=options
    ) as validator:
        codes = []
        await validator.step()
        codes.append({*told(validator)})
        uid = chain.register(NETUID, bob, stake_rao=10**9)
        chain.advance(LAG + 1)
        await validator.step()
        codes.append({*told(validator)})
        chain.do("set_neuron", NETUID, uid=uid, permit=True)
        chain.advance(LAG + 1)
        await validator.step()
        codes.append({*told(validator)})
        expected = [{"not-registered"}, {"no-permit"}, set()]
        assert codes == (expected if sets_weights else [set()] * 3)


@pytest.mark.parametrize(
    ("more", "lacks"),
    [
        ("", ["exchange.peers", "[service]"]),
        ("[service]\n", ["exchange.peers"]),
        ('[service]\n[exchange]\npeers = ["http://198.51.100.7:8090"]\n', []),
    ],
)
def test_an_exchange_with_nobody_to_hear_is_told_at_the_start(
    tmp_path: Path, more: str, lacks: list[str]
) -> None:
    (tmp_path / "network.toml").write_text(f"{NETWORK}[exchange]\ncommit_by = 1\nvote_by = 2\n")
    file = tmp_path / "validator.toml"
    file.write_text(
        'format = 1\n[validator]\nstate = "s.db"\nnetwork = "network.toml"\nfolder = "daemon"\n'
        f'[chain]\nurl = "simulate:none.toml"\nkey = "{ALICE}"\n{more}'
    )
    daemon = Daemon(Configuration.load(file), NoLock())
    problems = told(daemon.validator)
    assert bool(lacks) == ("no-peers" in problems)
    assert all(name in problems["no-peers"].message for name in lacks)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def size_of(path: Path) -> int | None:
    return path.stat().st_size if path.exists() else None


def emptied(path: Path) -> None:
    os.truncate(path, 0)


@pytest.mark.parametrize("lose", [Path.unlink, cut, emptied])
async def test_a_store_that_is_lost_is_told_with_the_way_back(
    validator: Validator, state: Path, chain: SimulatedChain, lose: Callable[[Path], None]
) -> None:
    async with validator:
        take(validator, 0)
        chain.advance(EPOCH_BLOCKS + LAG)
        assert (await validator.step()).closed == (0,)
        copy = state.with_name("copy.db")
        shutil.copy(state, copy)
        lose(state)
        size = size_of(state)
        chain.advance(EPOCH_BLOCKS)
        assert (await validator.step()).closed == ()
        problem = told(validator)["state"]
        assert "tallystick state import" in problem.message
        assert str(state) in problem.message
        assert size_of(state) == size
    with pytest.raises(StoreError, match="tallystick state import") as caught:
        async with validator:
            pass
    assert "state init" not in str(caught.value)
    copy.replace(state)
    async with validator:
        assert (await validator.step()).closed == (1,)
        assert "state" not in told(validator)


NO_CHAIN, NO_ROOM = ChainError("gone", Refusal.UNREACHABLE), OutputError("a full disk")
UNLOCKED = TrustError("found rules that the lock lacks", code="unlocked")


@pytest.mark.parametrize(
    ("part", "error", "codes", "closed"),
    [
        ("chain.head", NO_CHAIN, {"chain-unreachable"}, ()),
        ("chain.neurons", NO_CHAIN, {"chain-unreachable", "blocks-behind"}, ()),
        ("_adopt", KeyError("a key"), {"internal"}, (0, 1)),
        ("agreement.advance", NO_ROOM, {"peers"}, (0, 1)),
        ("_held.require", UNLOCKED, {"not-locked", "blocks-behind"}, ()),
        ("_close", StateError("no such rules"), {"closing-failed", "blocks-behind"}, ()),
        ("_publish", NO_ROOM, {"disk"}, (0, 1)),
        ("_send_row", NO_ROOM, {"weights"}, (0, 1)),
    ],
)
async def test_a_part_that_fails_is_told_and_tried_again(  # noqa: PLR0913, PLR0917  # a case
    validator: Validator,
    chain: SimulatedChain,
    monkeypatch: pytest.MonkeyPatch,
    part: str,
    error: Exception,
    codes: set[str],
    closed: tuple[int, ...],
) -> None:
    def fails(*_: object) -> None:
        raise error

    async with validator:
        for epoch in range(2):
            take(validator, epoch)
        chain.advance(2 * EPOCH_BLOCKS + 2 * LAG)
        *path, name = part.split(".")
        with monkeypatch.context() as patch:
            patch.setattr(reduce(getattr, path, validator), name, fails)
            assert (await validator.step()).closed == closed
            assert told(validator).keys() == codes
            assert validator.health().status == "failing"
        assert (await validator.step()).closed == (() if closed else (0, 1))
        assert validator.health().status == "ok"


async def test_what_an_epoch_waits_for_is_logged_once(
    validator: Validator,
    chain: SimulatedChain,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    missing = Problem("batch-missing", "found no batch, expected one", "wait", failing=True)

    async with validator:
        monkeypatch.setattr(validator.agreement, "counted", lambda _: (missing,))
        chain.advance(EPOCH_BLOCKS + LAG)
        for _ in range(3):
            assert (await validator.step()).closed == ()
            assert told(validator)["batch-missing"] == missing
        assert caplog.messages.count(missing.message) == 1


async def test_a_version_key_above_ours_stops_rows(
    validator: Validator, chain: SimulatedChain
) -> None:
    chain.do("set_hyperparameters", NETUID, version_key=2_000_000)
    async with validator:
        take(validator, 0)
        chain.advance(EPOCH_BLOCKS + 2 * LAG + 2)
        await validator.step()
        assert told(validator)["version-key"].failing


async def test_little_room_is_told_while_it_lasts(
    validator: Validator, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with validator:
        with monkeypatch.context() as patch:
            patch.setattr("tallystick_validator.validator.MIN_FREE_BYTES", 1 << 80)
            await validator.step()
            assert told(validator).keys() == {"disk"}
        await validator.step()
        assert validator.health().status == "ok"


async def test_a_file_of_records_that_cannot_be_taken_is_told_while_it_is_there(
    tmp_path: Path, state: Path, made: Made
) -> None:
    options = Options(records=tmp_path / "records")
    link = tmp_path / "records" / "a.jsonl"
    link.parent.mkdir()
    link.symlink_to(state)
    async with made(options=options) as validator:
        await validator.step()
        assert "a.jsonl" in told(validator)["record-file"].message
        link.unlink()
        await validator.step()
        assert validator.health().status == "ok"


async def test_a_full_intake_is_told_until_an_epoch_is_closed(
    tmp_path: Path, made: Made, chain: SimulatedChain
) -> None:
    rows = lines(records(ALICE, 0, 6))
    options = Options(records=tmp_path / "records", waiting_bytes=4 * len(rows[0]))
    async with made(options=options) as validator:
        (tmp_path / "records" / "a.jsonl").write_bytes(b"\n".join(rows))
        await validator.step()
        assert told(validator)["intake-full"].failing
        chain.advance(EPOCH_BLOCKS + LAG)
        await validator.step()
        await validator.step()
        assert "intake-full" not in told(validator)


async def test_an_exchange_that_cannot_write_is_told_while_it_cannot(
    tmp_path: Path, state: Path, chain: SimulatedChain
) -> None:
    of = network("[exchange]\ncommit_by = 1\nvote_by = 2\n")
    blocking = tmp_path / "daemon" / "exchange" / "0"
    async with Validator(state, of, chain.as_hotkey(ALICE), tmp_path / "daemon") as validator:
        blocking.write_text("a file in place of a folder")
        chain.advance(EPOCH_BLOCKS + LAG)
        await validator.step()
        assert str(blocking) in told(validator)["peers"].message
        blocking.unlink()
        await validator.step()
        assert "peers" not in told(validator)


async def test_a_slot_that_is_taken_over_before_the_reveal_is_told_until_another_row_is_committed(
    tmp_path: Path, state: Path, chain: SimulatedChain
) -> None:
    chain.do("set_hyperparameters", NETUID, commit_reveal=True, rate_limit_blocks=12)
    longer = attrs.evolve(network(), epoch_rounds=20)
    made = Validator(state, longer, chain.as_hotkey(ALICE), tmp_path / "daemon")

    async with made as validator:
        take(validator, 0)
        chain.advance(longer.epoch_blocks + 2 * LAG)
        for _ in range(LAG + 2):
            await validator.step()
            chain.advance()
        assert validator.health().facts["rows"] == {"0": "committed"}
        chain.do("trim", NETUID, uids=[0])
        chain.register(NETUID, hotkey_of("newcomer"))
        codes = []
        for _ in range(20):
            chain.advance()
            await validator.step()
            codes.append("slot-taken-over" in told(validator))
        assert True in codes
        assert codes[-1] is False


@pytest.mark.parametrize(("rules", "others"), [(RULES, {"skills": 100}), ("workflow@1.2.0", {})])
async def test_epochs_of_other_lengths_are_told(
    tmp_path: Path,
    chain: SimulatedChain,
    caplog: pytest.LogCaptureFixture,
    rules: str,
    others: dict[str, int],
) -> None:
    state = begun(tmp_path / "other.db", rules)

    async with Validator(state, network(), chain.as_hotkey(ALICE), tmp_path / "d") as validator:
        lengths = {"network": EPOCH_BLOCKS, "rules": others}
        assert validator.health().facts["epoch_blocks"] == lengths
        assert validator.health().status == "ok"
    warning = "found epochs of 100 blocks in skills, expected 6"
    assert (warning in caplog.text) is bool(others)
