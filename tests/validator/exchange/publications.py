"""Histories of commitments: what hotkeys published at which blocks, and reads of it at a block."""

from collections.abc import Iterable
from typing import Any

import attrs
from hypothesis import strategies as st

from tallystick_chain.chain import Commitment, Neuron
from tallystick_chain.network import Exchange
from tallystick_validator.ballots import UID_LIMIT, Ballot

EPOCH = 7
END, COMMIT, VOTE = 100, 120, 140


@attrs.frozen
class Published:
    """One commitment of a history."""

    block: int
    hotkey: str
    data: bytes


def read(history: Iterable[Published], block: int) -> tuple[Commitment, ...]:
    """The newest commitment of each hotkey at a block, as a chain gives it."""
    newest: dict[str, Published] = {}
    for each in sorted(history, key=lambda each: each.block):
        if each.block <= block:
            newest[each.hotkey] = each
    return tuple(Commitment(h, p.block, p.data) for h, p in sorted(newest.items()))


def rules(**changes: Any) -> Exchange:  # noqa: ANN401  # of any kind
    """The part of a network file that a tally reads."""
    return Exchange(COMMIT - END, VOTE - END, **changes)


def digest_of(number: int) -> str:
    """A batch that stands for its number."""
    return f"{number + 1:064x}"


stakes = st.sampled_from([0, 1, 1, 1, 2, 3, 4, 10**18, 10**18 + 1])
"""None, equal ones of which a half is common, and such as no double counts exactly."""


@st.composite
def networks(draw: st.DrawFn, most: int = 6) -> tuple[Neuron, ...]:
    """Neurons, of whom some have no permit and some no stake."""
    count = draw(st.integers(1, most))
    return tuple(
        Neuron(
            uid=uid,
            hotkey=f"hk-{uid}",
            permit=draw(st.integers(0, 4)) > 0,
            registered_block=1,
            stake_rao=draw(stakes),
        )
        for uid in range(count)
    )


def ballots(uids: int) -> st.SearchStrategy[bytes]:
    """Bytes of ballots of this epoch and others, with bits of any uid, and bytes that are none."""
    sound = st.builds(
        lambda epoch, batch, holds: Ballot(epoch, batch, frozenset(holds)).to_bytes(),
        st.sampled_from([EPOCH, EPOCH, EPOCH, EPOCH - 1, EPOCH + 1]),
        st.none() | st.integers(0, 9).map(digest_of),
        st.sets(st.integers(0, uids) | st.just(UID_LIMIT - 1)),
    )
    return sound | st.binary(max_size=128)


@st.composite
def histories(draw: st.DrawFn, neurons: tuple[Neuron, ...]) -> tuple[Published, ...]:
    """What everybody publishes: most validators as they should, and anything by anybody beside."""
    every = frozenset(neuron.uid for neuron in neurons)
    published = dict[tuple[int, str], Published]()

    def publish(block: int, hotkey: str, data: bytes) -> None:
        # the newest of a block is one
        published[block, hotkey] = Published(block, hotkey, data)

    for neuron in neurons:
        batch = digest_of(neuron.uid) if draw(st.integers(0, 4)) else None
        if batch is not None:
            publish(draw(st.integers(END, COMMIT)), neuron.hotkey, Ballot(EPOCH, batch).to_bytes())
        if draw(st.integers(0, 4)):
            holds = every - draw(st.frozensets(st.sampled_from(sorted(every)), max_size=2))
            vote = Ballot(EPOCH, batch, holds).to_bytes()
            publish(draw(st.integers(COMMIT + 1, VOTE)), neuron.hotkey, vote)
    hotkeys = st.sampled_from([*(n.hotkey for n in neurons), "stranger"])
    blocks = st.integers(END - 5, VOTE + 10)
    for _ in range(draw(st.integers(0, 3))):
        publish(draw(blocks), draw(hotkeys), draw(ballots(len(neurons))))
    return tuple(published.values())
