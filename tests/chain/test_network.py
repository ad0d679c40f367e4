"""The network file: its blocks, its digest, and files that are none."""

import json
import re
from pathlib import Path
from random import Random

import pytest
from cli.command import message_of, run
from hypothesis import given
from hypothesis import strategies as st

from tallystick.errors import InputError
from tallystick_chain.chain import Neuron
from tallystick_chain.network import Exchange, MinerRules, Network

TEXT = """format = 1
[network]
name = "demo"
netuid = 7
anchor_block = 1000
[rounds]
blocks = 60
[epochs]
rounds = 6
[exchange]
commit_by = 20
vote_by = 40
[weights]
at = 60
[miners]
types = ["b", "a"]
validators_from_rao = 1000
[[miners.rule]]
hotkeys = ["5F", "5E"]
types = ["a"]
[[miners.rule]]
uids = [4, 3]
types = []
"""


def _neuron(uid: int, hotkey: str, *, stake: int = 0, permit: bool = False) -> Neuron:
    return Neuron(uid, hotkey, permit, registered_block=1, stake_rao=stake)


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Networks of any length of rounds and epochs, with and without an exchange."""
    rounds, blocks = draw(st.integers(1, 50)), draw(st.integers(1, 400))
    length = rounds * blocks
    exchange = None
    if length > 1 and draw(st.booleans()):
        vote = draw(st.integers(2, length))
        exchange = Exchange(draw(st.integers(1, vote - 1)), vote)
    least = 0 if exchange is None else exchange.vote_by
    return Network(
        name="demo",
        netuid=1,
        anchor_block=draw(st.integers(2, 2**40)),
        round_blocks=blocks,
        epoch_rounds=rounds,
        weights_at=draw(st.integers(least, length)),
        exchange=exchange,
    )


@given(networks(), st.integers(0, 2**31 - 1), st.data())
def test_a_block_is_of_the_epoch_between_whose_ends_it_is(
    network: Network, epoch: int, data: st.DataObject
) -> None:
    first, end = network.first_block(epoch), network.end_block(epoch)
    assert end == network.first_block(epoch + 1) == first + network.epoch_blocks
    block = data.draw(st.integers(first, end - 1))
    assert network.epoch_at(block) == epoch
    number, rounds = network.round_at(block), network.rounds_of(epoch)
    assert number is not None
    assert number in rounds
    assert {network.epoch_of_round(number) for number in rounds} == {epoch}
    assert len(rounds) == network.epoch_rounds
    begins = network.first_block_of_round(number)
    assert begins <= block < network.first_block_of_round(number + 1)
    assert network.seed_block(number) == begins - network.seed_delay


@given(networks(), st.integers(0, 2**40))
def test_what_is_due_for_an_epoch_comes_in_order_before_the_next_one_ends(
    network: Network, epoch: int
) -> None:
    end, commit = network.end_block(epoch), network.commit_block(epoch)
    vote, weights = network.vote_block(epoch), network.weights_block(epoch)
    assert end <= commit <= vote <= weights <= network.end_block(epoch + 1)
    assert (network.exchange is None) == (end == commit)


@given(networks(), st.integers(0, 2**40))
def test_the_next_blocks_are_the_first_behind_a_block(network: Network, after: int) -> None:
    of = {
        "round": network.first_block_of_round,
        "epoch": network.first_block,
        "commit": network.commit_block,
        "vote": network.vote_block,
        "close": network.vote_block,
        "weights": network.weights_block,
    }
    dues = network.next_blocks(after)
    assert len({due.kind for due in dues}) == len(dues) == (6 if network.exchange else 4)
    for due in dues:
        assert due.block == of[due.kind](due.number) > after
        assert due.number == 0 or of[due.kind](due.number - 1) <= after
    assert [due.block for due in dues] == sorted(due.block for due in dues)


@given(networks())
def test_before_the_anchor_there_is_no_epoch(network: Network) -> None:
    assert network.epoch_at(network.anchor_block - 1) is None
    assert network.round_at(network.anchor_block - 1) is None
    for of in (network.first_block, network.first_block_of_round, network.rounds_of):
        with pytest.raises(ValueError, match="expected at least 0"):
            of(-1)


@pytest.mark.parametrize("seed", range(20))
def test_the_digest_depends_on_no_order_spelling_or_default(seed: int) -> None:
    # defaults that are written out
    added = {
        "[network]": ["mechanism = 0"],
        "[exchange]": ["quorum = 0.50", 'hear = "permit"', "minimum_stake_rao = 0"],
    }
    random, tables = Random(seed), list[str]()
    head, *parts = re.split(r"^(?=\[)", TEXT, flags=re.MULTILINE)
    for part in (*parts, "[groups]\ndelay = 2 # as it is without\n"):
        name, *lines = part.splitlines()
        lines += added.get(name, [])
        random.shuffle(lines)
        tables.append("\n".join([name, *lines, ""]))
    random.shuffle(tables)
    text = head + "".join(tables)
    for old, new in (
        ('["b", "a"]', '["a", "b"]'),
        ("[4, 3]", "[3, 4]"),
        ('"5F", "5E"', '"5E","5F"'),
    ):
        text = text.replace(old, new)
    assert Network.parse(text, "a").digest == Network.parse(TEXT, "b").digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('name = "demo"', 'name = "dem0"'),
        ("netuid = 7", "netuid = 8"),
        ("netuid = 7", "netuid = 7\nmechanism = 1"),
        ("netuid = 7", f'netuid = 7\ngenesis = "sha256:{"0" * 64}"'),
        ("anchor_block = 1000", "anchor_block = 1001"),
        ("blocks = 60", "blocks = 61"),
        ("rounds = 6", "rounds = 7"),
        ("commit_by = 20", "commit_by = 21"),
        ("vote_by = 40", "vote_by = 41"),
        ("vote_by = 40", "vote_by = 40\nquorum = 0.500000001"),
        ("vote_by = 40", 'vote_by = 40\nhear = ["5F"]'),
        ("vote_by = 40", "vote_by = 40\nminimum_stake_rao = 9223372036854775807"),
        ("at = 60", "at = 61"),
        ("at = 60", "at = 60\n[groups]\ndelay = 3"),
        ('["b", "a"]', '["b"]'),
        ("validators_from_rao = 1000", "validators_from_rao = 1001"),
        ('types = ["a"]', 'types = ["b"]'),
        ("uids = [4, 3]", "uids = [4]"),
    ],
)
def test_each_value_is_in_the_digest(old: str, new: str) -> None:
    assert TEXT.count(old) == 1
    changed = Network.parse(TEXT.replace(old, new), "new")
    before = Network.parse(TEXT, "old")
    assert changed != before
    assert changed.digest != before.digest


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("format = 1", "format = 1.0", "1: format: found 1.0, expected the version of this"),
        ("netuid = 7", "netuid = 0", "network.toml:4: network.netuid: found 0, expected the"),
        ("anchor_block = 1000", "anchor_block = 1e3", "found 1E+3, expected a block"),
        ("uids = [4, 3]", "uids = [4, 3.0]", "miners.rule[1].uids[1]: found 3.0, expected a uid"),
        ("commit_by", "comit_by", "11: exchange.comit_by: found 20, expected a key of the format"),
        ("vote_by = 40", "vote_by = 40\nquorum = 0", "network.toml:13: exchange.quorum: found 0"),
        ('"demo"', '"a demo"', "network.toml:3: network.name: found"),
        ("rounds = 6\n", "rounds = -6\n", "network.toml:9: epochs.rounds: found -6"),
        ("vote_by = 40", "vote_by = 20", "network.toml:12: exchange.vote_by: found 20, expected"),
        ("vote_by = 40", "vote_by = 361", "network.toml:12: exchange.vote_by: found 361, expected"),
        ("vote_by = 40", "vote_by = 40\nquorum = 1.0", "network.toml:13: exchange.quorum: found 1"),
        ("vote_by = 40", "vote_by = 40\nquorum = 0.1234567891", "exchange.quorum: found 0.12345"),
        ("vote_by = 40", 'vote_by = 40\nhear = "all"', "network.toml:13: exchange.hear: found"),
        ("vote_by = 40", "vote_by = 40\nhear = []", "network.toml:13: exchange.hear: found"),
        ("at = 60", "at = 39", "network.toml:14: weights.at: found 39, expected at least vote_by"),
        ("at = 60", "at = 361", "network.toml:14: weights.at: found 361, expected at most the 360"),
        ("anchor_block = 1000", "anchor_block = 1", "network.toml:5: network.anchor_block: found"),
        ("uids = [4, 3]", "uids = [4, 4]", "network.toml:22: miners.rule[1].uids: found"),
        ("uids = [4, 3]", 'hotkeys = ["5F"]', "network.toml:22: miners.rule[1].hotkeys[0]: found"),
        ("uids = [4, 3]\n", "", "miners.rule[1]: found"),
    ],
)
def test_what_is_no_network_file_is_refused_with_its_place(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert TEXT.count(old) == 1
    path = tmp_path / "network.toml"
    path.write_text(TEXT.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        Network.load(path)
    assert message in str(caught.value)
    assert message_of(run("chain", "network", path)) == str(caught.value)


@pytest.mark.parametrize("data", [b"\xff", b"[" * 5000, b"#" * 300_000, b"a = 1" * 9])
def test_bytes_that_are_no_such_file_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "network.toml"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"network\.toml"):
        Network.load(path)


def test_types_are_of_the_hotkey_then_of_the_uid_then_of_all() -> None:
    miners = Network.parse(TEXT, "network.toml").miners
    every = ("a", "b", "c")
    assert miners.types_of(_neuron(4, "5F"), every) == ("a",)
    assert miners.types_of(_neuron(4, "5X"), every) == ()
    assert miners.types_of(_neuron(5, "5X"), every) == ("a", "b")
    assert miners.types_of(_neuron(5, "5X", stake=1000, permit=True), every) == ()
    assert miners.types_of(_neuron(5, "5X", stake=999, permit=True), every) == ("a", "b")
    assert miners.types_of(_neuron(5, "5X", stake=1000), every) == ("a", "b")
    assert miners.types_of(_neuron(5, "5F", stake=1000, permit=True), every) == ("a",)
    assert MinerRules().types_of(_neuron(0, "5X", stake=9, permit=True), ["b", "a"]) == ("a", "b")


def test_the_command_has_the_digest_and_the_next_blocks(tmp_path: Path) -> None:
    path = tmp_path / "network.toml"
    path.write_text(TEXT, encoding="utf-8")
    network = Network.load(path)
    shown = run("chain", "network", path, "--block", "4000")
    assert shown.status == 0
    assert f"digest   {network.digest}" in shown.out
    assert "block    4000: epoch 8, round 50" in shown.out
    assert "4300   weights of epoch 8 are due" in shown.out
    value = run("chain", "network", path, "--block", "4000", "--json").json()
    assert (value["epoch"], value["round"], value["digest"]) == (8, 50, network.digest)
    assert {"block": 4300, "kind": "weights", "number": 8} in value["next"]
    assert json.dumps(value["network"]) == json.dumps(network.to_json())
    before = run("chain", "network", path, "--block", "0")
    assert "block    0: no epoch has begun" in before.out
