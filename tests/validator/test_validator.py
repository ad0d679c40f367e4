"""The validator as programs embed it, on a chain in memory: what each step does, and its health."""

import asyncio
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import psycopg
import pytest
from chain.faults import Answering
from state.databases import drop_database, new_database, server
from validator.daemons import (
    ALICE,
    ANCHOR,
    EPOCH_BLOCKS,
    LAG,
    MINERS,
    RULES,
    chain_of,
    follow,
    lines,
    network,
    records,
    take,
)
from validator.states import begun

from tallystick.errors import InputError, StoreError
from tallystick_chain.chain import Head
from tallystick_chain.simulated.simulation import SimulatedChain
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify
from tallystick_state.trust.checkpoint import read_checkpoint
from tallystick_validator.adoptions import AdoptionFolder
from tallystick_validator.validator import Options, Step, Validator

pytestmark = pytest.mark.anyio
NETWORK = network()
__all__ = ["server"]
Made = Callable[..., Validator]


def sent(validator: Validator, epoch: int) -> None:
    take(validator, lines(records(ALICE, epoch, 6)))


def codes(validator: Validator) -> set[str]:
    return {problem.code for problem in validator.health().problems}


def digest(validator: Validator) -> str:
    with validator.ledger.queries() as queries:
        return queries.digest()


async def test_each_step_does_what_is_due(validator: Validator, chain: SimulatedChain) -> None:
    async with validator:
        sent(validator, 0)
        step = await validator.step()
        assert (step.closed, step.open_epoch) == ((), 0)
        chain.advance(EPOCH_BLOCKS + LAG)
        step = await validator.step()
        assert (step.finalized, step.closed, step.open_epoch) == (16, (0,), 1)
        assert (await validator.step()).closed == ()
        assert validator.health().status == "ok"
        chain.advance(3 * EPOCH_BLOCKS)
        assert (await validator.step()).closed == (1, 2, 3)
        checkpoint = validator.folder / "checkpoints" / "latest.txt"
        assert read_checkpoint(checkpoint.read_bytes()).size == 4


async def test_rounds_count_by_the_time_of_the_blocks(
    tmp_path: Path, validator: Validator, chain: SimulatedChain
) -> None:
    """An epoch has twelve hours, and a miner two rounds of each; the last 24 hours have four."""
    chain.seconds_per_block = 12 * 3600 / EPOCH_BLOCKS
    other = Validator(tmp_path / "peer.db", NETWORK, chain.as_hotkey(ALICE), tmp_path / "peer")
    begun(tmp_path / "peer.db", RULES)

    async with validator, other:
        for epoch in range(4):
            for each in (validator, other):
                sent(each, epoch)
        chain.advance(4 * EPOCH_BLOCKS + LAG)
        for each in (validator, other):
            assert (await each.step()).closed == (0, 1, 2, 3)
        assert digest(validator) == digest(other)
        with validator.ledger.queries() as queries:
            profile = queries.profile(MINERS[0])
        assert (profile.rounds, profile.counted) == (4, "hours")
        assert verify(validator.ledger).entries


async def test_the_chain_sees_the_row_of_each_epoch_once(
    validator: Validator, chain: SimulatedChain
) -> None:
    async with validator:
        for epoch in range(4):
            sent(validator, epoch)
            await follow(validator, chain, EPOCH_BLOCKS)
        await follow(validator, chain, LAG + 6)
        assert validator.health().facts["rows"] == dict.fromkeys("0123", "set")

        assert validator.intake.take([b"{}"])[0].status == "rejected"
    observed = validator.observations.observed()
    assert observed.last_block is not None
    assert observed.blocks_behind == 0
    assert observed.receipts["set"] == 4
    assert observed.steps["closing"][0] >= 4
    assert sum(observed.rejects.values()) == 1
    rows = [entry for entry in chain.log if entry.kind == "row"]
    assert len(rows) == 4
    assert {entry.version_key for entry in rows} == {1_002_000}


async def test_a_chain_that_was_begun_again_closes_nothing(
    tmp_path: Path, state: Path, chain: SimulatedChain
) -> None:
    # its blocks have other hashes
    other = chain_of([ALICE], seed=99)
    chains = [chain]

    class Switched:
        """A chain by an endpoint behind which another one may come."""

        def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # as a chain has it
            return getattr(chains[-1].as_hotkey(ALICE), name)

    daemon = tmp_path / "daemon"

    async with Validator(state, NETWORK, Switched(), daemon, hotkey=ALICE) as validator:
        chain.advance(3 * EPOCH_BLOCKS + LAG)
        assert (await validator.step()).closed == (0, 1, 2)
        chains.append(other)
        step = await validator.step()
        assert (step.closed, step.waits) == ((), True)
        assert "chain-went-back" in codes(validator)
        assert validator.health().status == "failing"
    other.advance(5 * EPOCH_BLOCKS + LAG)
    # it is known after a start, too
    async with Validator(state, NETWORK, Switched(), daemon, hotkey=ALICE) as validator:
        assert (await validator.step()).closed == ()
        (problem,) = (p for p in validator.health().problems if p.code == "chain-went-back")
        assert "found the hash" in problem.message
        chains.pop()
        chain.advance(EPOCH_BLOCKS)
        assert (await validator.step()).closed == (3,)
        assert "chain-went-back" not in codes(validator)


def told(chain: SimulatedChain, name: str, lies: Mapping[str, int] | None = None) -> Answering:
    """An endpoint of a chain that tells of the head what a test has."""
    view, lies = chain.as_hotkey(ALICE), {} if lies is None else lies

    def block_hash(block: int) -> str:
        return f"0x{block:064x}" if block == lies.get("finalized") else view.block_hash(block)

    def head() -> Head:
        return attrs.evolve(view.head(), endpoint=name, **lies)

    return Answering(view, {"head": head, "block_hash": block_hash})


async def test_another_endpoint_corrects_what_one_told_wrongly(
    tmp_path: Path, state: Path, chain: SimulatedChain
) -> None:
    daemon = tmp_path / "daemon"
    made = partial(Validator, state, NETWORK, folder=daemon, hotkey=ALICE)
    lies = {"finalized": ANCHOR}
    liar, honest = told(chain, "liar", lies), told(chain, "honest")

    async with made(chain=liar) as validator:
        await validator.step()
        assert validator.health().status == "ok"
    chain.advance(EPOCH_BLOCKS + LAG)
    lies.clear()
    async with made(chain=liar) as validator:
        # the same endpoint contradicts itself: nobody knows when it was right
        assert (await validator.step()).closed == ()
        assert "chain-went-back" in codes(validator)
    async with made(chain=honest) as validator:
        assert (await validator.step()).closed == (0,)
        assert "chain-went-back" not in codes(validator)
    other = chain_of([ALICE], seed=99)
    other.advance(3 * EPOCH_BLOCKS)
    async with made(chain=told(other, "other chain")) as validator:
        assert (await validator.step()).closed == ()
        (problem,) = (p for p in validator.health().problems if p.code == "chain-went-back")
        assert "first block" in problem.message


async def test_a_height_beyond_any_chain_is_no_answer(
    tmp_path: Path, state: Path, chain: SimulatedChain
) -> None:
    liar = told(chain, "liar", {"best": 10**15, "finalized": 10**15})
    async with Validator(state, NETWORK, liar, tmp_path / "daemon", hotkey=ALICE) as validator:
        assert (await validator.step()).finalized is None
        assert codes(validator) == {"chain-unreachable"}


async def test_a_node_that_lags_a_little_fails_nothing(
    validator: Validator, chain: SimulatedChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with validator:
        chain.advance(EPOCH_BLOCKS + LAG)
        await validator.step()
        head = validator.chain.head()
        monkeypatch.setattr(
            validator.chain, "head", lambda: attrs.evolve(head, finalized=head.finalized - 1)
        )
        assert (await validator.step()).waits
        assert "chain-went-back" in codes(validator)
        assert validator.health().status == "degraded"
        monkeypatch.undo()
        await validator.step()
        assert "chain-went-back" not in codes(validator)


def killed_between(
    tmp_path: Path, chain: SimulatedChain, stage: str, monkeypatch: pytest.MonkeyPatch
) -> str:
    """The digest of a state whose validator ended before a stage, and went on anew."""
    path = tmp_path / f"{stage}.db"
    begun(path, RULES)

    def made() -> Validator:
        return Validator(path, NETWORK, chain.as_hotkey(ALICE), tmp_path / f"folder {stage}")

    async def run() -> str:
        async with made() as first:
            sent(first, 0)
            chain.advance(EPOCH_BLOCKS + LAG)

            def die(*_: object) -> None:
                raise KeyboardInterrupt

            monkeypatch.setattr(first, stage, die)
            with pytest.raises(KeyboardInterrupt):
                await first.step()
        async with made() as second:
            sent(second, 1)
            chain.advance(EPOCH_BLOCKS)
            await second.step()
            assert second.intake.counts().bytes == 0
            with second.ledger.queries() as queries:
                assert [info.events for info in queries.epochs()] == [6, 6, 0]
            return digest(second)

    return asyncio.run(run())


async def test_a_state_that_is_older_than_the_intake_closes_nothing(
    tmp_path: Path, state: Path, made: Made, chain: SimulatedChain
) -> None:
    """A backup that was put back would lose the records of the epochs that it has open."""
    backup, moved = tmp_path / "backup.db", tmp_path / "moved.db"
    shutil.copy(state, backup)

    async with made() as running:
        sent(running, 0)
        chain.advance(EPOCH_BLOCKS + LAG)
        assert (await running.step()).closed == (0,)
        shutil.move(state, moved)
        shutil.copy(backup, state)
        assert (await running.step()).closed == ()
        (problem,) = (p for p in running.health().problems if p.code == "intake")
        assert problem.failing
        assert "tallystick state import" in problem.message
    with pytest.raises(StoreError, match="found the epoch 0 open, expected 1 or a later one"):
        async with made():
            pass
    shutil.move(moved, state)
    async with made() as whole:
        assert (await whole.step()).open_epoch == 1
        assert whole.health().status == "ok"


async def test_records_of_an_epoch_that_was_closed_by_hand_count_in_the_next(
    validator: Validator, chain: SimulatedChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records that the state does not hold are not settled: they wait."""

    def fails(*_: object) -> None:
        raise InputError("found what cannot be closed")

    async with validator:
        sent(validator, 0)
        chain.advance(EPOCH_BLOCKS + LAG)
        with monkeypatch.context() as patch:
            patch.setattr(validator, "_close", fails)
            assert (await validator.step()).closed == ()
        validator.ledger.close_epoch(0)
        chain.advance(EPOCH_BLOCKS)
        assert (await validator.step()).closed == (1,)
        with validator.ledger.queries() as queries:
            assert [info.events for info in queries.epochs()] == [0, 6, 0]


async def test_a_state_with_a_second_name_is_refused(
    validator: Validator, state: Path, tmp_path: Path
) -> None:
    (tmp_path / "other.db").hardlink_to(state)

    with pytest.raises(InputError, match="has 2 names"):
        async with validator:
            pass


def disconnect(url: str) -> None:
    """End every connection to a database, as a restart of its server does."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.mark.process
async def test_one_daemon_has_a_state_on_a_server(
    tmp_path: Path, server: str, chain: SimulatedChain
) -> None:
    url = new_database(server)
    Ledger.create(url, RULES).close()

    def made(name: str) -> Validator:
        return Validator(url, NETWORK, chain.as_hotkey(ALICE), tmp_path / name)

    async with made("first") as first:
        with pytest.raises(InputError, match="another process has this state"):
            async with made("second"):
                pass
        sent(first, 0)
        chain.advance(EPOCH_BLOCKS + LAG)
        assert (await first.step()).closed == (0,)
        # the lock ends with the connection: it is taken again, unless another has it by then
        disconnect(url)
        chain.advance(EPOCH_BLOCKS)
        assert (await first.step()).closed == (1,)
        disconnect(url)
        async with made("second"):
            chain.advance(EPOCH_BLOCKS)
            assert (await first.step()).closed == ()
            (problem,) = (p for p in first.health().problems if p.code == "state")
            assert "another process has this state" in problem.message
        assert (await first.step()).closed == (2,)
    drop_database(server, url)


STAGES = ("_require_locked", "_close", "_settle", "_weigh", "_send_row", "_count_records")


def test_a_stop_between_any_two_stages_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = {killed_between(tmp_path, chain_of([ALICE]), stage, monkeypatch) for stage in STAGES}
    assert len(digests) == 1


ADOPTION = 'format = 1\n[adoption]\nrules = "skills@1.1.0"\nat_epoch = {}\nmajor = true\n'


def adopted(tmp_path: Path, name: str, at_step: int) -> tuple[str, str]:
    """The digests of a state under a file of the folder of adoptions that came at a step."""
    chain, path, folder = chain_of([ALICE]), tmp_path / f"{name}.db", tmp_path / name
    begun(path, RULES)
    folder.mkdir()
    options = Options(adoptions=folder)

    async def run() -> tuple[str, str]:
        files = tmp_path / f"{name} files"
        async with Validator(path, NETWORK, chain.as_hotkey(ALICE), files, options=options) as v:
            for epoch in range(4):
                if epoch == at_step:
                    (folder / "next.toml").write_text(ADOPTION.format(3))
                sent(v, epoch)
                chain.advance(EPOCH_BLOCKS + (LAG if epoch == 0 else 0))
                await v.step()
                assert not codes(v) & {"adoption-refused", "adoption-late"}
            with v.ledger.queries() as queries:
                (line,) = queries.in_force.at(3).lines
                assert line.rule_set.reference == "skills@1.1.0"
                return queries.digest(), queries.rules_digest()

    return asyncio.run(run())


def test_adoptions_of_the_folder_count_from_their_epoch_whenever_they_came(
    tmp_path: Path,
) -> None:
    assert len({adopted(tmp_path, f"step {step}", step) for step in (0, 2)}) == 1


def test_an_adoption_of_the_folder_has_the_receipt_of_a_gate_beside_it(
    tmp_path: Path, state: Path
) -> None:
    folder = tmp_path / "adoptions"
    folder.mkdir()
    (folder / "a.toml").write_text(ADOPTION.format(3) + 'gate_receipt = "gate.json"\n')
    with Ledger.open(state) as ledger:
        (problem,) = AdoptionFolder(folder).apply(ledger)
        assert "gate.json: the receipt of a gate cannot be read" in problem.message
        (folder / "gate.json").write_text("{}")
        (problem,) = AdoptionFolder(folder).apply(ledger)
        assert 'gate.json: the whole: found no "format"' in problem.message


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("format = 1\n", "adoption-refused"),
        ("not TOML", "adoption-refused"),
        (ADOPTION.replace("skills@1.1.0", "nothing@9.9.9").format(3), "adoption-refused"),
        (ADOPTION.format(1), "adoption-late"),
    ],
)
async def test_an_adoption_that_cannot_be_is_told_and_ends_nothing(
    tmp_path: Path, made: Made, chain: SimulatedChain, text: str, code: str
) -> None:
    folder = tmp_path / "adoptions"
    folder.mkdir()

    async with made(options=Options(adoptions=folder)) as v:
        chain.advance(EPOCH_BLOCKS + LAG)
        await v.step()
        (folder / "a.toml").write_text(text)
        chain.advance(EPOCH_BLOCKS)
        assert (await v.step()).closed == (1,)
        assert code in codes(v)
        (folder / "a.toml").unlink()
        await v.step()
        assert code not in codes(v)


def test_a_state_of_another_network_is_refused(
    tmp_path: Path, state: Path, chain: SimulatedChain
) -> None:
    async def run() -> None:
        other = attrs.evolve(NETWORK, genesis="sha256:" + "0" * 64)
        async with Validator(state, other, chain.as_hotkey(ALICE), tmp_path / "daemon"):
            pass

    with pytest.raises(InputError, match="the genesis of the network file"):
        asyncio.run(run())


async def test_a_refused_start_leaves_nothing_locked(
    tmp_path: Path, state: Path, chain: SimulatedChain, validator: Validator
) -> None:
    async with validator:
        with pytest.raises(InputError, match="stop the other one first"):
            async with Validator(state, NETWORK, chain.as_hotkey(ALICE), tmp_path / "other"):
                pass
        other = tmp_path / "other.db"
        begun(other, RULES)
        with pytest.raises(InputError, match="this folder"):
            async with Validator(other, NETWORK, chain.as_hotkey(ALICE), validator.folder):
                pass
    async with Validator(state, NETWORK, chain.as_hotkey(ALICE), tmp_path / "other"):
        pass


def test_stop_ends_a_run(validator: Validator) -> None:
    seen = list[int | None]()

    async def run() -> None:
        def after(step: Step) -> bool:
            seen.append(step.finalized)
            validator.stop()
            return True

        await validator.run(after)

    asyncio.run(run())
    assert seen == [ANCHOR - LAG]


async def test_a_stop_while_the_state_is_opened_ends_a_run_before_its_first_step(
    validator: Validator,
) -> None:
    opening = asyncio.create_task(validator.__aenter__())
    await asyncio.sleep(0)
    validator.stop()
    await opening
    await validator.run(lambda _: pytest.fail("a step was taken"))
    await validator.__aexit__()


async def test_records_of_a_folder_are_taken_before_the_epoch_is_closed(
    tmp_path: Path, made: Made, chain: SimulatedChain
) -> None:
    folder = tmp_path / "records"
    folder.mkdir()

    async with made(options=Options(records=folder)) as v:
        (folder / "a.jsonl").write_bytes(b"\n".join(lines(records(ALICE, 0, 5))))
        chain.advance(EPOCH_BLOCKS + LAG)
        await v.step()
        with v.ledger.queries() as queries:
            assert queries.epoch(0).events == 5
