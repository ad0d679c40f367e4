"""A simulated chain in a file: who shares it, and what a kill, a clock or a damage does to it."""

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from chain.simulated_subnet import everything

from tallystick.errors import InputError, TallystickError
from tallystick_chain.chain import ChainError, Receipt, Refusal
from tallystick_chain.connect import connect
from tallystick_chain.simulated import shared_chain
from tallystick_chain.simulated.hotkeys import hotkey_of
from tallystick_chain.simulated.shared_chain import BLOCKS_AT_ONCE, SharedChain

NETUID = 7
VALIDATORS = tuple(hotkey_of(f"validator-{number}") for number in (1, 2))
ROW = ((2, 65535), (3, 9))
FILE = f"""
format = 1
[chain]
first_block = 100
block_time = BLOCK_TIME
[[subnet]]
netuid = {NETUID}
hyperparameters = {{ rate_limit_blocks = 0, min_allowed = 1, commit_reveal = false }}
neuron = [
    {{ name = "validator", count = 2, stake_rao = 5, permit = true }},
    {{ name = "miner", count = 3 }},
]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of a chain whose blocks a test makes."""
    path = tmp_path / "chain.toml"
    path.write_text(FILE.replace("BLOCK_TIME", "0"))
    return path


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that stands."""
    clock = SimpleNamespace(now=1_000_000)
    clock.time_ns = lambda: clock.now * 1_000_000_000
    monkeypatch.setattr(shared_chain, "time", clock)
    return clock


def submit(chain: SharedChain, validator: int = 0) -> Receipt:
    return chain.as_hotkey(VALIDATORS[validator]).submit_row(NETUID, 0, ROW, 0, 1.0)


def test_all_who_name_the_file_share_one_chain_and_a_restart_loses_nothing(path: Path) -> None:
    chains = [SharedChain(path) for _ in VALIDATORS]
    link = path.with_name("link.toml")
    link.symlink_to(path)
    view = connect(f"simulate:{link}", VALIDATORS[1])
    assert submit(chains[0]).kind == "included"
    assert view.commit(NETUID, b"x", 1.0).kind == "included"
    assert chains[0].do("register", NETUID, hotkey="5New").subnets[NETUID].uid_of("5New") == 5
    block = chains[1].advance(3)
    chains[0].do("set_neuron", netuid=NETUID, uid=0, permit=False)
    assert submit(chains[1]).code is Refusal.NO_PERMIT
    kept = everything(view, NETUID, block)
    assert kept == everything(SharedChain(path).as_hotkey("5R"), NETUID, block)
    assert view.row(NETUID, 0, 0, block) == ROW
    assert [entry.kind for entry in SharedChain(path).now().log] == ["row", "commitment"]


def test_a_fork_is_one_for_all(path: Path) -> None:
    first, second = SharedChain(path), SharedChain(path)
    submit(first)
    block = first.advance()
    before = second.now().block(block).digest
    assert [entry.kind for entry in second.fork(1)] == ["row"]
    assert (first.now().best, first.now().log) == (block - 1, ())
    first.advance()
    assert second.now().block(block).digest == first.now().block(block).digest != before
    assert SharedChain(path).now().block(block).subnets[NETUID].mechanisms[0].rows == {}
    with pytest.raises(ChainError, match="finalized ones stay"):
        first.fork(9)


def test_what_is_refused_has_not_happened(path: Path) -> None:
    chain = SharedChain(path)
    before = everything(chain.as_hotkey("5R"), NETUID, chain.now().best)
    for name, arguments in (
        ("register", {"hotkey": VALIDATORS[0]}),
        ("advance", {"blocks": 1}),
    ):
        with pytest.raises(ChainError):
            chain.do(name, NETUID, **arguments)
    for one in (chain, SharedChain(path)):
        assert everything(one.as_hotkey("5R"), NETUID, one.now().best) == before


def test_calls_at_once_are_one_after_the_other(path: Path) -> None:
    chains = [SharedChain(path) for _ in range(4)]

    def call(chain: SharedChain) -> None:
        for number in range(7):
            assert chain.as_hotkey(VALIDATORS[0]).commit(NETUID, bytes([number]), 1.0).block_hash
            chain.advance()

    threads = [threading.Thread(target=call, args=(chain,)) for chain in chains]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log = chains[0].now().log
    assert len(log) == 28
    assert chains[0].now().best == 103 + 28
    assert log == SharedChain(path).now().log


# the clock


def test_blocks_follow_the_clock_while_somebody_looks(path: Path, seconds: SimpleNamespace) -> None:
    path.write_text(FILE.replace("BLOCK_TIME", "2"))
    chain, other = SharedChain(path), SharedChain(path)
    begun = chain.now().best
    blocks = []
    # one and a half blocks; nothing; back by an hour; on from there; a night without a look
    for passed in (3, 1, 0, -3600, 2, 10**5, 2):
        seconds.now += passed
        blocks.append(chain.now().best - begun)
        assert other.now().best == chain.now().best
    assert blocks == [1, 2, 2, 2, 3, 3 + BLOCKS_AT_ONCE, 4 + BLOCKS_AT_ONCE]
    assert SharedChain(path).now().best == chain.now().best
    assert chain.now().seconds_per_block == 2.0


# kills and damage


def _overwritten(file: Path) -> None:
    file.write_bytes(b"no database" * 500)


def _of_another_program(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as database:
        database.execute("CREATE TABLE own (number INTEGER)")


def _with_an_input(name: str, arguments: bytes) -> Callable[[Path], None]:
    def write(file: Path) -> None:
        with closing(sqlite3.connect(file)) as database, database:
            row = (200, name, arguments)
            insert = "INSERT INTO input (block, name, arguments) VALUES (?, ?, ?)"
            database.execute(insert, row)

    return write


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_overwritten, "found no simulated chain"),
        (_of_another_program, "found a database of another kind"),
        (_with_an_input("advance", b"\x80"), "found an input 1 that is none"),
        (_with_an_input("trim", b"\x80"), "found an input 1 that is none"),
        (_with_an_input("trim", b"\xc1"), "found an input 1 that is none"),
    ],
)
def test_a_file_that_is_none_is_refused_with_the_way_on(
    path: Path, damage: Callable[[Path], None], message: str
) -> None:
    file = SharedChain(path).file
    damage(file)
    data = file.read_bytes()
    with pytest.raises(InputError, match=f"{message}.*move the SQLite file away"):
        connect(f"simulate:{path}", "5R").head()
    assert file.read_bytes() == data
    file.unlink()
    assert connect(f"simulate:{path}", "5R").head().best == 103


def test_a_chain_goes_on_with_what_it_began_with_alone(path: Path) -> None:
    chain = SharedChain(path)
    text = path.read_text()
    path.write_text(f"# the same values\n{text}")
    assert SharedChain(path).now().best == 103
    path.write_text(text.replace("count = 3", "count = 4"))
    with pytest.raises(InputError, match="other values than the chain began with"):
        SharedChain(path).now()
    # another chain comes in its place, and who looks follows that one
    path.write_text(text)
    chain.advance(5)
    chain.file.unlink()
    with pytest.raises(ChainError) as caught:
        chain.now()
    assert caught.value.code is Refusal.UNREACHABLE
    SharedChain(path)
    assert chain.now().best == 103


def test_who_holds_the_file_is_waited_for_and_then_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chain = SharedChain(path)
    monkeypatch.setattr(shared_chain, "WAIT_SECONDS", 0)
    with closing(sqlite3.connect(chain.file)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(TallystickError, match="locked: look at the endpoint"):
            chain.now()
        refused = submit(chain)
        assert (refused.kind, refused.code) == ("refused", Refusal.UNREACHABLE)
    assert submit(chain).kind == "included"
