"""Three validators of one chain that exchange batches over real HTTP end with one state."""

import json
import shutil
from pathlib import Path

import attrs
import pytest
from state.signing import root, written_root
from validator.exchange.houses import (
    NETUID,
    RULES,
    Subnet,
    chain_of,
    house_of,
    network,
    own_record,
    subnet,
)

from tallystick.io.text import short
from tallystick_chain.chain import ChainError, Refusal
from tallystick_chain.network import Exchange
from tallystick_chain.simulated.hotkeys import address_of, hotkey_of, signer_of
from tallystick_validator.ballots import Ballot, ballot_of
from tallystick_validator.closing import Counted

NAMES = ("ann", "ben", "cem")
HOTKEYS = tuple(map(hotkey_of, NAMES))


def give(net: Subnet, epoch: int, *who: int) -> None:
    """Each takes two records of an epoch in."""
    for index in who or range(len(net.houses)):
        house = net.houses[index]
        tasks = (f"t{epoch}-{index}-{number}" for number in range(2))
        house.give(*(own_record(house.hotkey, task, epoch) for task in tasks))


def test_all_have_one_state_whatever_the_order(tmp_path: Path) -> None:
    with subnet(tmp_path) as net:
        for epoch, order in ((0, (0, 1, 2)), (1, (2, 1, 0))):
            give(net, epoch, *order)
            net.close(epoch, order)
            assert [house.ledger.open_epoch() for house in net.houses] == [epoch + 1] * 3
            assert len(net.digests()) == 1
            assert {house.counted(epoch) for house in net.houses} == {tuple(sorted(HOTKEYS))}
        assert [house.problems() for house in net.houses] == [()] * 3
        assert [house.recorded for house in net.houses] == [[6] * 2] * 3
        # a batch and a vote for each validator and epoch, and nothing twice
        assert len([entry for entry in net.chain.log if entry.kind == "commitment"]) == 3 * 2 * 2


def test_one_that_is_cut_off_catches_up_and_its_records_come_late(tmp_path: Path) -> None:
    with subnet(tmp_path) as net:
        give(net, 0)
        net.cut.add(2)
        net.close(0)
        ann, _, cem = net.houses
        # the chain orders all the same: the two that have each other's batches decide
        assert ann.counted(0) == tuple(sorted(HOTKEYS[:2]))
        assert cem.ledger.open_epoch() == 0
        assert {problem.code for problem in cem.waits} == {"batch-missing"}
        assert all(problem.failing for problem in cem.waits)
        assert "peer-unreachable" in cem.codes()
        net.cut.clear()
        net.until(net.chain.finalized + 1)
        assert cem.codes() == {"not-counted"}
        give(net, 1)
        net.close(1)
        assert len(net.digests()) == 1
        assert ann.counted(1) == tuple(sorted(HOTKEYS))
        batch = ann.exchange.counted(1).batches[HOTKEYS[2]]()
        assert sorted(json.loads(line)["epoch"] for line in batch.lines) == [0, 0, 1, 1]
        assert {tuple(house.recorded) for house in net.houses} == {(4, 8)}
        net.until(net.network.vote_block(1) + 1)
        assert not any(house.codes() for house in net.houses)


def test_one_that_is_killed_anywhere_commits_to_the_same_bytes(tmp_path: Path) -> None:
    """Signatures of sr25519 are random, so a batch that were made again would be another."""
    keys = [signer_of(name) for name in NAMES]
    hotkeys = [address_of(key) for key in keys]
    trust = written_root(tmp_path, root(events=hotkeys))
    with subnet(tmp_path, keys=keys, signers=keys, trust=trust) as net:
        give(net, 0)
        net.until(net.network.end_block(0))
        first = net.houses[2].exchange.shelf.own(0)
        assert first is not None
        for block in range(net.network.end_block(0) + 1, net.network.vote_block(0) + 1):
            again = net.restart(2, keys[2])
            net.until(block)
            assert again.exchange.shelf.own(0) == first
        assert len(net.digests()) == 1
        assert net.houses[0].counted(0) == tuple(sorted(hotkeys))
        mine = [e for e in net.chain.log if e.kind == "commitment" and e.hotkey == hotkeys[2]]
        assert {ballot_of(entry.data).batch for entry in mine} == {first}
        # a state with a trust file takes what is signed as signed
        for house in net.houses:
            with house.ledger.store.reading() as transaction:
                kinds = [entry.kind for entry in transaction.entries()]
            assert kinds.count("signed") == 6
            assert not {"signal", "own"} & {*kinds}


def test_a_state_of_an_old_backup_catches_up(tmp_path: Path) -> None:
    with subnet(tmp_path) as net:
        state, backup = net.houses[2].folder / "state.db", tmp_path / "backup.db"
        for epoch in range(2):
            give(net, epoch)
            net.close(epoch)
            if epoch == 0:
                shutil.copyfile(state, backup)
        net.houses[2].ledger.close()
        shutil.copyfile(backup, state)
        again = net.restart(2)
        assert again.ledger.open_epoch() == 1
        give(net, 2)
        net.close(2)
        assert again.ledger.open_epoch() == 3
        assert len(net.digests()) == 1


def test_a_fork_that_takes_ballots_back_changes_nothing(tmp_path: Path) -> None:
    # with time to see what is gone, and to send it again
    longer = network(exchange=Exchange(commit_by=6, vote_by=9))
    with subnet(tmp_path, networks=(longer,) * 3) as net:
        give(net, 0)
        net.until(net.network.end_block(0))
        net.chain.advance()
        assert {entry.kind for entry in net.chain.fork(1)} == {"commitment"}
        net.close(0)
        assert net.houses[0].counted(0) == tuple(sorted(HOTKEYS))
        assert len(net.digests()) == 1


def test_a_batch_that_another_key_signed_is_not_held_and_stops_nobody(tmp_path: Path) -> None:
    keys = [signer_of(name) for name in NAMES]
    hotkeys = [address_of(key) for key in keys]
    trust = written_root(tmp_path, root(events=hotkeys))
    signers = [keys[0], keys[1], keys[0]]
    with subnet(tmp_path, keys=keys, signers=signers, trust=trust) as net:
        give(net, 0)
        ann, ben, _ = net.houses
        # it is told while the votes are open
        net.until(net.network.vote_block(0) - 1)
        assert ann.codes() == ben.codes() == {"batch-refused"}
        net.close(0)
        assert ann.counted(0) == tuple(sorted(hotkeys[:2]))
        assert ann.snapshot() == ben.snapshot()
        assert "batch-refused" not in ann.codes() | ben.codes()


@pytest.mark.parametrize("before", [0, 1], ids=["at-once", "just-before-the-cut-off"])
@pytest.mark.parametrize("copier", ["first", pytest.param("last", marks=pytest.mark.nightly)])
def test_who_commits_the_digest_of_another_silences_and_stops_nobody(
    tmp_path: Path, copier: str, before: int
) -> None:
    """With 1 of 31 rao, by the lowest and the highest uid, also while a validator is away."""
    hotkeys = [hotkey_of("dan"), *HOTKEYS] if copier == "first" else [*HOTKEYS, hotkey_of("dan")]
    dan = hotkeys.index(hotkey_of("dan"))
    ann, _, cem = (index for index in range(4) if index != dan)
    chain = chain_of(hotkeys)
    chain.do("set_neuron", NETUID, uid=dan, stake_rao=1)
    several = {"networks": (network(),) * 4, "rules": (RULES,) * 4, "signers": (None,) * 4}
    with subnet(tmp_path, keys=hotkeys, chain=chain, **several) as net:
        net.away |= {dan, cem}
        give(net, 0, *({0, 1, 2, 3} - net.away))
        net.until(net.network.end_block(0) + before)
        copied = net.houses[ann].exchange.shelf.own(0)
        assert copied is not None
        net.houses[dan].chain.commit(NETUID, Ballot(0, copied, frozenset(range(4))).to_bytes(), 1.0)
        net.close(0)
        others = tuple(sorted(net.houses[i].hotkey for i in {0, 1, 2, 3} - net.away))
        assert net.houses[ann].counted(0) == others
        refused = [p for p in net.houses[ann].problems() if p.code == "batch-refused"]
        # whoever was away closes the epoch as the others did
        net.away.remove(cem)
        give(net, 1, cem)
        net.close(1)
        assert net.houses[cem].counted(0) == others
        assert {h.ledger.open_epoch() for i, h in enumerate(net.houses) if i != dan} == {2}
        assert len({h.snapshot() for i, h in enumerate(net.houses) if i != dan}) == 1
        assert not refused or "batch-other-validator" in refused[0].message


@pytest.mark.nightly
def test_reads_of_the_chain_are_kept_so_no_archive_is_needed_for_them(tmp_path: Path) -> None:
    chain = chain_of(HOTKEYS)
    chain.keep_blocks = 14
    with subnet(tmp_path, chain=chain) as net:
        give(net, 0)
        net.cut.add(2)
        net.close(0)
        net.until(net.network.commit_block(0) + 20)
        with pytest.raises(ChainError):
            net.houses[0].chain.commitments(NETUID, net.network.commit_block(0))
        # who saw the blocks pass still knows what they said
        assert not isinstance(net.houses[2].exchange.counted(0), Counted)
        # who was away needs an archive node
        stranger = house_of(tmp_path / "new", net.houses[2].chain)
        with pytest.raises(ChainError) as caught:
            stranger.exchange.counted(0)
        assert caught.value.code is Refusal.NO_BLOCK
        # a batch was waited for longer than the node keeps blocks
        net.cut.clear()
        net.houses[2].step()
        assert net.houses[2].snapshot() == net.houses[0].snapshot()


def test_peers_that_part_are_named_with_the_epoch_and_the_step(tmp_path: Path) -> None:
    with subnet(tmp_path) as net:
        give(net, 0)
        net.close(0)
        # an operator who records something behind the back of the others
        smuggled = own_record(HOTKEYS[0], "smuggled", 1, "hk-2")
        net.houses[2].ledger.import_events([smuggled])
        for epoch in (1, 2):
            give(net, epoch)
            net.close(epoch)
        net.until(net.network.vote_block(2) + 1)
        for who in (0, 1):
            (problem,) = net.houses[who].problems()
            assert problem.code == "peer-differs"
            assert "in the epoch 1 at the step inputs" in problem.message
            assert "state export peer.jsonl" in problem.remedy
            assert "tallystick audit states state.db" in problem.remedy
        assert [p.code for p in net.houses[2].problems()] == ["peer-differs"] * 2
        assert sorted(net.houses[0].exchange.compared().values()) == [False, True]


def test_what_else_parts_peers_is_named(tmp_path: Path) -> None:
    longer = network(
        exchange=Exchange(commit_by=4, vote_by=8, quorum=network().exchange.quorum / 2)
    )
    networks, rules = (network(), network(), longer), (RULES, "skills@1.2.0", RULES)
    with subnet(tmp_path, networks=networks, rules=rules) as net:
        net.until(net.network.end_block(0))
        told = {p.code: f"{p.message}: {p.remedy}" for p in net.houses[0].problems()}
        assert {*told} == {"peer-network", "peer-genesis"}
        assert net.network.digest in told["peer-network"]
        assert "compare the network files" in told["peer-network"]
        assert "with which the states began" in told["peer-genesis"]
        # their operators put it right
        net.houses[1].exchange._state = net.houses[2].ledger
        net.houses[2].exchange._network = net.network
        net.until(net.chain.finalized + 1)
        assert not net.houses[0].codes() & {*told}


@pytest.mark.nightly
def test_rules_that_one_alone_has_scheduled_are_told(tmp_path: Path) -> None:
    with subnet(tmp_path) as net:
        give(net, 0)
        net.until(net.network.end_block(0))
        net.houses[1].ledger.adopt("skills@1.2.0", 5)
        net.until(net.network.vote_block(0) + 1)
        assert net.houses[0].codes() == {"peer-rules"}
        net.houses[0].ledger.adopt("skills@1.2.0", 5)
        net.houses[2].ledger.adopt("skills@1.2.0", 5)
        give(net, 1)
        net.until(net.network.vote_block(1) + 1)
        assert net.houses[0].codes() == set()


def test_who_is_not_heard_publishes_nothing_and_closes_as_the_others(tmp_path: Path) -> None:
    heard = attrs.evolve(network().exchange, hear=HOTKEYS[:2])
    with subnet(tmp_path, networks=(network(exchange=heard),) * 3) as net:
        give(net, 0)
        net.until(net.network.end_block(0) + 1)
        assert net.houses[2].codes() == {"not-heard"}
        net.close(0)
        assert net.houses[2].counted(0) == tuple(sorted(HOTKEYS[:2]))
        assert len(net.digests()) == 1
        assert {entry.hotkey for entry in net.chain.log if entry.kind == "commitment"} == {
            *HOTKEYS[:2]
        }


def test_a_batch_that_lacks_or_left_a_line_out_is_told_until_the_next_is_well(
    tmp_path: Path,
) -> None:
    with subnet(tmp_path) as net:
        give(net, 0, 0, 1)
        net.houses[1].give(b"no JSON")
        net.close(0)
        (problem,) = net.houses[0].problems()
        assert problem.code == "no-batch"
        assert short(HOTKEYS[2]) in problem.message
        assert net.houses[1].codes() == {"no-batch", "line-left-out"}
        give(net, 1)
        net.close(1)
        assert not any(house.codes() for house in net.houses)


def test_a_chain_that_refuses_a_ballot_is_told_with_its_remedy(tmp_path: Path) -> None:
    with subnet(tmp_path) as net:
        give(net, 0)
        net.until(net.network.end_block(0) - 1)
        house = net.houses[0]
        net.chain.advance()
        net.chain.do("trim", NETUID, uids=[0])
        net.chain.advance()
        house.step()
        (problem,) = (p for p in house.problems() if p.code == "commit-refused")
        assert "not-registered" in problem.message
        # the next ballot is taken
        net.chain.register(NETUID, HOTKEYS[0], stake_rao=10, permit=True)
        give(net, 1)
        net.close(1)
        assert "commit-refused" not in house.codes()


def test_damage_of_a_batch_on_the_disk_is_pulled_again(tmp_path: Path) -> None:
    with subnet(tmp_path) as net:
        give(net, 0)
        net.until(net.network.vote_block(0) - 1)
        house = net.houses[0]
        for digest in house.exchange.shelf.digests(0):
            if digest != house.exchange.shelf.own(0):
                path = house.exchange.shelf.find(digest)
                path.write_bytes(path.read_bytes().replace(b"executable", b"exfiltrate"))
        net.close(0)
        assert {p.code for p in house.waits} == {"batch-missing"}
        net.until(net.network.vote_block(0) + 1)
        assert len(net.digests()) == 1
