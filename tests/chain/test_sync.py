"""Miners, seeds and stake of a state come from a chain at one finalized block."""

import json
from pathlib import Path

import pytest
from cli.command import message_of, run
from state.subnet import record, written

from tallystick.canonical import digest
from tallystick.errors import StateError
from tallystick.io.json_schema import first_problem
from tallystick.rules.toml_source import parse_source
from tallystick_chain.chain import ChainError, Neuron, Refusal
from tallystick_chain.cli.inputs import reading
from tallystick_chain.network import Network
from tallystick_chain.simulated.hotkeys import hotkey_of
from tallystick_chain.simulated.shared_chain import SharedChain
from tallystick_chain.snapshot import ChainSnapshot
from tallystick_chain.sync import finalized_block, immune_hotkeys, miner_slots, seed_of_round
from tallystick_state.ledger import Ledger
from tallystick_yuma.metagraph import validators_of

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
[miners]
validators_from_rao = 1000
immunity_blocks = 30
[[miners.rule]]
hotkeys = ["MINER 1"]
types = ["mcp_server", "a type of other rules"]
"""
SUBNET = """format = 1
[chain]
block_time = 0
finality_lag = 2
[[subnet]]
netuid = 7
[[subnet.neuron]]
hotkey = "VALIDATOR"
stake_rao = 9000
permit = true
[[subnet.neuron]]
hotkey = "MINER 0"
[[subnet.neuron]]
hotkey = "MINER 1"
stake_rao = 5
"""


def _text(text: str) -> str:
    for name in ("VALIDATOR", "MINER 0", "MINER 1"):
        text = text.replace(f'"{name}"', f'"{hotkey_of(name)}"')
    return text


@pytest.fixture
def network_file(tmp_path: Path) -> Path:
    path = tmp_path / "network.toml"
    path.write_text(_text(NETWORK), encoding="utf-8")
    return path


@pytest.fixture
def control(tmp_path: Path) -> SharedChain:
    path = tmp_path / "chain.toml"
    path.write_text(_text(SUBNET), encoding="utf-8")
    return SharedChain(path)


@pytest.fixture
def url(control: SharedChain) -> str:
    return f"simulate:{control.file.with_suffix('')}"


def _neuron(uid: int, hotkey: str, *, block: int = 1, **values: object) -> Neuron:
    return Neuron(
        uid, hotkey, **({"permit": False, "stake_rao": 0} | values), registered_block=block
    )


def test_miners_are_those_of_the_network_file_with_their_registrations() -> None:
    network = Network.parse(_text(NETWORK), "network.toml")
    neurons = (
        _neuron(0, "5v", permit=True, stake_rao=1000),
        _neuron(1, "5m", block=4),
        _neuron(2, hotkey_of("MINER 1"), block=40),
    )
    slots = miner_slots(network, neurons, ["mcp_server", "declarative"])
    assert slots == [
        {"uid": 1, "hotkey": "5m", "types": ["declarative", "mcp_server"], "registered_block": 4},
        {
            "uid": 2,
            "hotkey": hotkey_of("MINER 1"),
            "types": ["mcp_server"],
            "registered_block": 40,
        },
    ]
    assert immune_hotkeys(network, neurons, 33) == {"5m", hotkey_of("MINER 1")}
    assert immune_hotkeys(network, neurons, 34) == {hotkey_of("MINER 1")}
    assert immune_hotkeys(network, neurons, 70) == frozenset()


def test_a_state_follows_a_chain_and_who_registers_again_begins_anew(
    tmp_path: Path, network_file: Path, url: str, control: SharedChain
) -> None:
    state = ("--state", tmp_path / "subnet.db")
    chain = ("--chain", url, "--network", network_file)
    assert run("state", "init", "--rules", "skills@1.0.0", *state).status == 0
    refused = run("miner", "sync", *chain, "--block", "3", *state)
    assert "found the block 3, expected at most" in message_of(refused)
    control.advance(4)
    synced = run("miner", "sync", *chain, "--block", "3", *state, "--json").json()
    assert set(synced["registered"]) == {hotkey_of("MINER 0"), hotkey_of("MINER 1")}
    again = run("miner", "sync", *chain, *state, "--json").json()
    assert (again["registered"], again["unchanged"]) == ([], 2)
    miner = hotkey_of("MINER 0")
    bad = record("t1", miner, events=["probe_fail"])
    lines = written(tmp_path / "round.jsonl", [bad])
    assert run("round", "close", lines, *state).status == 0
    assert run("epoch", "close", "--epoch", "0", *state).status == 0
    ledger = Ledger.open(tmp_path / "subnet.db")
    with ledger.queries() as queries:
        initial = queries.state.miners[hotkey_of("MINER 1")].reputation["mcp_server"]
        low = queries.state.miners[miner].reputation["executable_python"]
    assert low < initial
    # another hotkey takes the uid over, then the first registers in another one
    control.do("register", netuid=7, hotkey="5Sniper", uid=1)
    control.advance()
    control.do("register", netuid=7, hotkey=miner)
    control.advance(3)
    synced = run("miner", "sync", *chain, *state, "--json").json()
    assert sorted(synced["registered"]) == sorted(["5Sniper", miner])
    with Ledger.open(tmp_path / "subnet.db").queries() as queries:
        miners = queries.state.miners
        assert miners[miner].reputation["executable_python"] == initial
        assert (miners[miner].uid, miners["5Sniper"].uid) == (3, 1)
        assert miners["5Sniper"].reputation["executable_python"] == initial
        assert (miners[miner].registered_block or 0) > 4
    # the log leads to it again
    assert run("state", "verify", *state).status == 0


def test_a_list_of_an_older_block_is_refused(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "subnet.db", "skills@1.0.0")
    slot = {"uid": 1, "hotkey": "5m", "types": ["mcp_server"]}
    ledger.sync_miners([slot | {"registered_block": 9}])
    before = ledger.store.shown, (tmp_path / "subnet.db").read_bytes()
    with pytest.raises(StateError, match=r"found the registration of .* at block 8, expected at"):
        ledger.sync_miners([slot | {"registered_block": 8}])
    assert (ledger.store.shown, (tmp_path / "subnet.db").read_bytes()) == before
    # a list without blocks leaves what is known
    ledger.sync_miners([slot])
    with ledger.queries() as queries:
        assert queries.state.miners["5m"].registered_block == 9


def test_a_list_in_csv_may_have_registrations(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "subnet.db", "skills@1.0.0")
    path = tmp_path / "miners.csv"
    path.write_text("uid,hotkey,types,registered_block\n1,5m,mcp_server,77\n", encoding="utf-8")
    ledger.sync_miners(path)
    with ledger.queries() as queries:
        assert queries.state.miners["5m"].registered_block == 77


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "found no FILE, expected it, or --chain"),
        (
            ("miners.csv", "--chain", "simulate:none.toml", "--network", "n"),
            "found FILE and --ch",
        ),
        (("--chain", "simulate:none.toml"), "found --chain without --network"),
        (("miners.csv", "--network", "n"), "found --network without --chain"),
        (("miners.csv", "--block", "3"), "found --block without --chain"),
        (
            ("--chain", "simulate:none.toml", "--network", "n", "--block", "x"),
            "found 'x' for --b",
        ),
    ],
)
def test_a_source_of_miners_is_one_and_whole(
    tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    where = tmp_path / "state.db"
    Ledger.create(where, "skills@1.2.0").close()
    done = run("miner", "sync", *options, "--state", where)
    assert done.status == 2
    assert message in done.err


@pytest.mark.parametrize(
    ("chain", "message"),
    [("simulate://127.0.0.1:9944", "expected simulate:FILE"), ("other:x", "look at the endpoint")],
)
def test_a_chain_that_does_not_answer_is_told(
    tmp_path: Path, network_file: Path, chain: str, message: str
) -> None:
    state = ("--state", tmp_path / "subnet.db")
    assert run("state", "init", "--rules", "skills@1.0.0", *state).status == 0
    done = run("miner", "sync", "--chain", chain, "--network", network_file, *state)
    assert message in message_of(done)


def test_the_seed_of_a_group_is_the_hash_of_a_finalized_block(
    tmp_path: Path, network_file: Path, url: str, control: SharedChain
) -> None:
    state = ("--state", tmp_path / "subnet.db")
    chain = ("--chain", url, "--network", network_file)
    assert run("state", "init", "--rules", "skills@1.0.0", *state).status == 0
    control.advance(20)
    assert run("miner", "sync", *chain, *state).status == 0
    select = ("groups", "select", "mcp_server", "--round", "1", *state)
    group = run(*select, *chain, "--json")
    assert group.status == 0
    with reading(url) as reader:
        seed = reader.block_hash(18)
        assert seed_of_round(reader, Network.load(network_file), 1) == seed
        with pytest.raises(ChainError) as caught:
            finalized_block(reader, 28)
        assert caught.value.code is Refusal.NO_BLOCK
    assert run(*select, "--seed", seed, "--json").json() == group.json()
    late = run("groups", "select", "mcp_server", "--round", "2", *state, *chain)
    assert "found the block 28, expected at most" in message_of(late)
    assert "found --seed and --chain" in run(*select, "--seed", "a", *chain).err
    assert "found no --seed, expected it, or --chain" in run(*select).err


def test_a_snapshot_has_the_stake_of_validators(
    tmp_path: Path, network_file: Path, url: str, control: SharedChain
) -> None:
    control.advance(6)
    command = ("chain", "snapshot", "--chain", url, "--network", network_file, "--block", "4")
    shown = run(*command, "-o", tmp_path / "snapshot.json", "--json").json()
    control.advance(3)
    assert run(*command, "-o", tmp_path / "again.json").status == 0
    data = (tmp_path / "snapshot.json").read_bytes()
    assert (tmp_path / "again.json").read_bytes() == data
    assert (shown["neurons"], shown["permits"]) == (3, 1)
    assert digest(json.loads(data)) == shown["digest"]
    # validators of a back-test
    (validator,) = validators_of(tmp_path / "snapshot.json")
    assert (validator.hotkey, validator.stake) == (hotkey_of("VALIDATOR"), 9000)


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"block": -1},
        {"block_hash": "0x00"},
        {"stake": [1, 2, 3.5]},
        {"stake": [1, 2, "3"]},
        {"hotkeys": ["5a", "5a", "5b"]},
        {"more": 1},
        {"subnet": {}},
    ],
)
def test_what_is_no_snapshot_is_refused(network_file: Path, change: dict[str, object]) -> None:
    from tallystick_chain.simulated.document import SimulationFile

    chain = SimulationFile.of(parse_source(_text(SUBNET), "chain.toml")).begin()
    chain.do("set_neuron", 7, uid=0, stake_rao=2**63)
    chain.advance(4)
    network = Network.load(network_file)
    snapshot = ChainSnapshot.of(chain.as_hotkey("reader"), network)
    assert json.loads(snapshot.to_bytes())["stake"][0] == str(2**63)
    assert first_problem("chain-snapshot-1", snapshot.to_json()) is None
    assert first_problem("chain-snapshot-1", snapshot.to_json() | change) is not None
