"""The law by which validators agree on batches, over any history of commitments."""

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from validator.exchange.publications import (
    COMMIT,
    END,
    EPOCH,
    VOTE,
    Published,
    ballots,
    digest_of,
    histories,
    networks,
    read,
    rules,
)

from tallystick.errors import StateError
from tallystick_chain.chain import Commitment, Neuron
from tallystick_chain.network import Exchange, Network
from tallystick_validator.ballots import (
    LAST_EPOCH,
    MAX_COMMITMENT_BYTES,
    UID_LIMIT,
    Ballot,
    Tally,
    ballot_of,
    batches_at,
    due,
    heard,
    tally,
)

NETWORK = Network(
    name="test",
    netuid=1,
    anchor_block=END - (EPOCH + 1) * 10,
    round_blocks=10,
    epoch_rounds=1,
    weights_at=10,
    exchange=Exchange(commit_by=COMMIT - END, vote_by=VOTE - END),
)


Case = tuple[tuple[Neuron, ...], tuple[Published, ...], Exchange]
cases = networks().flatmap(
    lambda neurons: st.tuples(
        st.just(neurons),
        histories(neurons),
        st.sampled_from(
            [
                rules(),
                rules(quorum=Fraction(2, 3)),
                rules(hear=("hk-0", "hk-2")),
                rules(minimum_stake_rao=4),
            ]
        ),
    )
)
uids = st.sets(st.integers(0, UID_LIMIT - 1))
digests = st.none() | st.binary(min_size=32, max_size=32).map(bytes.hex).filter(
    lambda digest: int(digest, 16) > 0
)


@given(st.integers(0, LAST_EPOCH), digests, uids)
def test_a_ballot_comes_back_as_it_was_and_fits(
    epoch: int, batch: str | None, holds: set[int]
) -> None:
    data = Ballot(epoch, batch, frozenset(holds)).to_bytes()
    assert len(data) <= MAX_COMMITMENT_BYTES
    assert ballot_of(data) == Ballot(epoch, batch, frozenset(holds))


@given(st.binary(max_size=140) | ballots(20) | ballots(20).map(lambda data: data + b"\0"))
def test_bytes_are_no_ballot_or_the_one_spelling_of_one(data: bytes) -> None:
    ballot = ballot_of(data)
    assert ballot is None or ballot.to_bytes() == data


@pytest.mark.parametrize(
    "ballot", [Ballot(LAST_EPOCH + 1), Ballot(-1), Ballot(0, None, frozenset({UID_LIMIT}))]
)
def test_what_no_ballot_can_name_is_refused(ballot: Ballot) -> None:
    with pytest.raises(StateError, match="expected"):
        ballot.to_bytes()


def law(
    neurons: tuple[Neuron, ...], history: tuple[Published, ...], asked: Exchange
) -> list[Tally]:
    """The votes for each batch as docs/exchange.md has them, for one validator after the other."""

    def ballot(hotkey: str, block: int) -> Ballot | None:
        own = [p for p in history if p.hotkey == hotkey and p.block <= block]
        newest = ballot_of(max(own, key=lambda p: p.block).data) if own else None
        return newest if newest is not None and newest.epoch == EPOCH else None

    def is_heard(neuron: Neuron) -> bool:
        is_named = neuron.permit if asked.hear == "permit" else neuron.hotkey in asked.hear
        return is_named and neuron.stake_rao >= asked.minimum_stake_rao

    ears = [*filter(is_heard, neurons)]
    total = sum(n.stake_rao for n in ears)
    tallies = []
    for owner in ears:
        committed = ballot(owner.hotkey, COMMIT)
        if committed is None or committed.batch is None:
            continue
        holders = []
        for voter in ears:
            before, vote = ballot(voter.hotkey, COMMIT), ballot(voter.hotkey, VOTE)
            stood = None if before is None else before.batch
            if vote is not None and vote.batch == stood and owner.uid in vote.holds:
                holders.append(voter)
        stake = sum(n.stake_rao for n in holders)
        hotkeys = tuple(n.hotkey for n in holders)
        counts = stake > asked.quorum * total
        tallies.append(
            Tally(owner.uid, owner.hotkey, committed.batch, hotkeys, stake, total, counts)
        )
    return tallies


@given(cases, st.randoms(use_true_random=False))
def test_batches_count_by_the_law_in_whatever_order_the_blocks_are_read(
    case: Case, rng: random.Random
) -> None:
    neurons, history, asked = case
    shuffled = [list(read(history, COMMIT)), list(read(history, VOTE)), list(neurons)]
    for part in shuffled:
        rng.shuffle(part)
    assert list(tally(EPOCH, *shuffled, asked)) == law(neurons, history, asked)


def test_a_vote_that_is_not_whole_waits_until_the_middle() -> None:
    """Then until three quarters, and no longer than that for bytes that may never come."""
    committed = {"hk-0": digest_of(0), "hk-1": digest_of(1), "hk-2": digest_of(2)}
    known = {"batch": digest_of(0), "committed": committed, "own": "hk-0"}
    known |= {"uids": {f"hk-{uid}": uid for uid in range(3)}}

    def at(block: int, held: int, newest: Commitment | None = None) -> Ballot | None:
        hotkeys = {f"hk-{uid}" for uid in range(held)}
        return due(EPOCH, NETWORK, block, newest=newest, held=hotkeys, **known)

    middle, later = (COMMIT + VOTE) // 2, COMMIT + (VOTE - COMMIT) * 3 // 4
    assert at(COMMIT, 3) is not None
    assert at(middle - 1, 1) is None
    first = at(middle, 1)
    assert first == Ballot(EPOCH, digest_of(0), frozenset({0}))
    published = Commitment("hk-0", middle, first.to_bytes())
    assert at(middle + 1, 2, published) is None
    assert at(later, 2, published) is not None
    assert at(later, 1, published) is None
    assert at(middle + 1, 3, published) is not None


@given(cases, st.data())
def test_what_is_due_is_published_at_most_four_times_and_then_rests(
    case: Case, data: st.DataObject
) -> None:
    """A validator that does what is due ends with a vote for all that it holds."""
    neurons, history, asked = case
    # its own hotkey publishes what is due alone
    me = data.draw(st.sampled_from(neurons))
    history = tuple(p for p in history if p.hotkey != me.hotkey)
    batch = data.draw(st.none() | st.just(digest_of(77)))
    comes = data.draw(st.dictionaries(st.integers(0, 9).map(digest_of), st.integers(END, VOTE)))
    at_end = {n.hotkey: n.uid for n in heard(neurons, asked)}
    for block in range(END, VOTE + 1):
        committed = (
            batches_at(EPOCH, read(history, COMMIT), heard(neurons, asked))
            if block >= COMMIT
            else {}
        )
        held = {h for h, d in committed.items() if comes.get(d, VOTE) <= block or d == batch}
        mine = [c for c in read(history, block) if c.hotkey == me.hotkey]
        known = {
            "batch": batch,
            "committed": committed,
            "own": me.hotkey,
            "held": held,
            "uids": at_end,
        }
        ballot = due(EPOCH, NETWORK, block, newest=mine[0] if mine else None, **known)
        if ballot is not None:
            published = Published(block, me.hotkey, ballot.to_bytes())
            history = (*history, published)
            again = Commitment(me.hotkey, block, published.data)
            assert due(EPOCH, NETWORK, block, newest=again, **known) is None
    mine = [p for p in history if p.hotkey == me.hotkey]
    assert len(mine) <= 4
    assert all(p.block < VOTE for p in mine)
    pinned = batches_at(EPOCH, read(history, COMMIT), heard(neurons, asked))
    if me.hotkey in at_end:
        assert pinned.get(me.hotkey) == batch
    # the bytes that had come by three quarters of the time to vote are in its vote
    in_time = {
        at_end[h] for h, d in pinned.items() if comes.get(d, VOTE) <= COMMIT + 15 or d == batch
    }
    newest = [ballot_of(c.data) for c in read(history, VOTE) if c.hotkey == me.hotkey]
    assert in_time <= (newest[0].holds if newest and newest[0] else frozenset())


def test_who_comes_late_votes_without_a_batch_of_its_own() -> None:
    uids = {"hk-0": 0, "hk-1": 1}
    late = due(
        EPOCH,
        NETWORK,
        COMMIT + 1,
        batch=digest_of(1),
        newest=None,
        committed={"hk-0": digest_of(0)},
        own="hk-1",
        held={"hk-0", "hk-1"},
        uids=uids,
    )
    assert late == Ballot(EPOCH, None, frozenset({0}))
