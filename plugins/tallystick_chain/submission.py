"""The submission of rows: the next action, as a pure function of a journal and the chain.

Invariants:

- an attempt is in the journal before its call is made, and one call at most is made for it;
- while a call may still land, no other is made, of whichever epoch; what is unknown is decided by
  finalized blocks alone;
- a call whose answer is lost can land for as long as its signature is valid (`MORTAL_BLOCKS`), and
  never after;
- no row is sent for an epoch of which a row has landed, or for one older than another's that was;
- an outcome is written once, and never changes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, Self

import attrs
import msgspec

from tallystick_chain.chain import (
    Neuron,
    Pairs,
    PendingRow,
    Receipt,
    Refusal,
    Subnet,
    has_too_large_share,
)
from tallystick_chain.weight_rows import WeightRow

MORTAL_BLOCKS = 128
"""Blocks for which the signature of a call is valid; the adapters ask for so many."""
MOST_PENDING = 9
"""Most committed rows beside which another is committed: the chain takes ten."""
BACKOFF_BLOCKS = 5
"""Blocks after a refusal that can pass until the next attempt; each further one doubles it."""
MOST_DOUBLINGS = 6
"""Maximum number of doublings of the wait after refusals."""
PASSING = frozenset(
    {
        Refusal.LOW_STAKE,
        Refusal.NOT_REGISTERED,
        Refusal.NO_PERMIT,
        Refusal.TOO_MANY_PENDING,
        Refusal.TOO_SOON,
        Refusal.UNKNOWN_UID,
        Refusal.UNREACHABLE,
    }
)
"""Refusals that can pass while the row is due; others are the outcome of the epoch."""


class Outcome(StrEnum):
    """Outcomes of the row of an epoch; all but `COMMITTED` are final.

    Attributes:
        meaning: what it means and, where something is wrong, what to do.
    """

    meaning: str

    def __new__(cls, code: str, meaning: str = "") -> Self:
        """Return the outcome, with its meaning beside it."""
        member = str.__new__(cls, code)
        member._value_, member.meaning = code, meaning
        return member

    SET = "set", "the chain has the row"
    COMMITTED = "committed", "the row is committed, and will be revealed"
    REVEALED_OTHER = (
        "revealed-other",
        "the chain has another row of this hotkey: look for another validator with the same key",
    )
    SUPERSEDED = "superseded", "a newer row of this validator was revealed in the same block"
    INHERITED = (
        "inherited",
        (
            "the chain has the row, and pays whoever took a slot over before it was set or "
            "revealed: look at the next epoch's row"
        ),
    )
    VANISHED = (
        "vanished",
        (
            "the committed row was never set: compare permit, stake and version key at its reveal "
            "with what the subnet asks for"
        ),
    )
    REFUSED = "refused", "the chain refused the row"
    LAPSED = "lapsed", "the call never came to the chain: look at the endpoint and the network"
    UNKNOWN = "unknown", "the blocks that would tell are not kept: name an archive node"


class Settlement(msgspec.Struct, frozen=True):
    """An outcome, by finalized blocks.

    Attributes:
        outcome: the outcome.
        block: where it is seen: that of the commit, of the row, or of the reveal.
        detail: of a commit, the round of its reveal; of a refusal its code, and the chain's error.
    """

    outcome: Outcome
    block: int
    detail: str = ""


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One call for the row of an epoch: what was decided before it, and what came of it.

    Attributes:
        epoch: whose row it is.
        number: of the attempt for the epoch, from 1.
        block: the finalized block at which it was decided.
        best: the newest block then.
        last_update: the block of the validator's last row or commit, as the finalized block has it.
        pairs: the row.
        version_key: that it names.
        receipt: the answer to the call; None until it came. It is unknown too where the process
            was interrupted.
        receipt_best: the newest block as the answer came.
        committed: the commit, where the row was committed.
        settled: the final outcome; None while there is none.
    """

    epoch: int
    number: int
    block: int
    best: int
    last_update: int
    pairs: Pairs
    version_key: int
    receipt: Receipt | None = None
    receipt_best: int = 0
    committed: Settlement | None = None
    settled: Settlement | None = None

    @property
    def newest(self) -> Settlement | None:
        """The newest outcome, with its block and detail; None before any."""
        return self.settled or self.committed

    @property
    def outcome(self) -> Outcome | None:
        """The newest outcome; None before any."""
        return None if self.newest is None else self.newest.outcome

    @property
    def newest_block(self) -> int:
        """The newest finalized block that decided something about it."""
        return self.block if self.newest is None else max(self.block, self.newest.block)

    def answered(self, best: int, receipt: Receipt) -> Attempt:
        """Return the attempt with the answer to its call."""
        return msgspec.structs.replace(self, receipt=receipt, receipt_best=best)

    def settle(self, outcome: Outcome, block: int, detail: str = "") -> Attempt:
        """Return the attempt with an outcome."""
        settlement = Settlement(outcome, block, detail)
        if outcome is Outcome.COMMITTED:
            return msgspec.structs.replace(self, committed=settlement)
        return msgspec.structs.replace(self, settled=settlement)

    @property
    def may_land_until(self) -> int | None:
        """The last block in which the call may land; None where it cannot any more."""
        receipt = self.receipt
        if receipt is None:
            return self.best + MORTAL_BLOCKS
        if receipt.kind == "refused" and receipt.block_hash is None:
            return None
        is_there = self.committed is not None or self.outcome in {Outcome.SET, Outcome.INHERITED}
        if receipt.kind != "refused" and is_there:
            # a call is in one finalized block at most
            return None
        return self.receipt_best + MORTAL_BLOCKS


@attrs.frozen
class Landing:
    """The newest row or commit of a validator.

    Attributes:
        block: its block.
        row: the row that the chain has at that block.
        commit: the commit of that block; None where a row was set in the open.
    """

    block: int
    row: Pairs
    commit: PendingRow | None = None


@attrs.frozen(kw_only=True)
class ChainFacts:
    """The chain as a validator sees it at a finalized block.

    Attributes:
        block: the finalized block.
        best: the newest block.
        subnet: the mechanism.
        neurons: by uid.
        own: the validator; None where its hotkey holds no uid.
        last_update: the block of its last row or commit; 0: never.
        landing: the row or commit of that block; None where there is none, or no call is open.
        pending: its committed rows.
    """

    block: int
    best: int
    subnet: Subnet
    neurons: tuple[Neuron, ...]
    own: Neuron | None
    last_update: int
    landing: Landing | None
    pending: tuple[PendingRow, ...]

    def landed_after(self, attempt: Attempt) -> Landing | None:
        """Return the row or commit that came behind an attempt; None where none has.

        A registration sets the block of the last row, too, and is none.
        """
        if self.own is None or self.landing is None:
            return None
        before = max(attempt.last_update, self.own.registered_block)
        return self.landing if self.landing.block > before else None


ActionKind = Literal["nothing", "wait", "write", "compare", "stop"]
"""Kinds of actions; see `Action`."""


@attrs.frozen
class Action:
    """The next thing to do.

    Attributes:
        kind: ``nothing`` is due, or left to do; ``wait``, as for a later finalized block or the
            reveal of a committed row; ``write`` an attempt, behind which the row of a new one is
            sent; ``compare``: read the row at its reveal; ``stop``: the subnet's version key is
            above that of the rules.
        reason: why, as a code: of `Refusal`, ``no-weights``, ``committed``, ``unknown`` …
        until: the block until which to wait at least; None where no block is known.
        attempt: that it is about, as it is to be written.
        detail: what was found, for people.
    """

    kind: ActionKind
    reason: str = ""
    until: int | None = None
    attempt: Attempt | None = None
    detail: str = ""


def next_action(attempts: tuple[Attempt, ...], facts: ChainFacts, due: WeightRow | None) -> Action:
    """Return the next action.

    Args:
        attempts: those of the journal; no call is being made.
        facts: the chain at a finalized block.
        due: the newest row that is due, at the block of the facts; None where none is.
    """
    watching: Action | None = None
    for attempt in attempts:
        if attempt.settled is not None:
            continue
        if attempt.committed is not None:
            if any(row.block == attempt.committed.block for row in facts.pending):
                watching = watching or Action("wait", "committed", attempt=attempt)
                continue
            if facts.block > attempt.committed.block:
                return Action("compare", "revealed", attempt=attempt)
            return Action("wait", "older-block", attempt.committed.block, attempt)
        return _reconcile(attempt, facts)
    return _submit(attempts, facts, due, watching or Action("nothing"))


def _reconcile(attempt: Attempt, facts: ChainFacts) -> Action:
    """Return the action for a call of which no outcome is known."""
    receipt = attempt.receipt
    if receipt is None:
        # the process was interrupted: no answer will come
        interrupted = Receipt("unknown", chain_error="interrupted")
        return Action("write", "unknown", attempt=attempt.answered(facts.best, interrupted))
    refusal = ": ".join(filter(None, (receipt.code, receipt.chain_error)))
    last, landing = attempt.may_land_until, facts.landed_after(attempt)
    if last is None:
        return _settled(attempt.settle(Outcome.REFUSED, attempt.receipt_best, refusal))
    if landing is None:
        if facts.block <= last:
            return Action("wait", "unknown", last + 1, attempt)
        outcome = Outcome.REFUSED if receipt.kind == "refused" else Outcome.LAPSED
        return _settled(attempt.settle(outcome, facts.block, refusal))
    if landing.commit is not None:
        detail = str(landing.commit.reveal_round)
        return _settled(attempt.settle(Outcome.COMMITTED, landing.block, detail))
    outcome = Outcome.SET if is_row(landing.row, attempt.pairs) else Outcome.REVEALED_OTHER
    return _settled(attempt.settle(outcome, landing.block))


def _settled(attempt: Attempt) -> Action:
    return Action("write", attempt.outcome or "", attempt=attempt)


def is_row(row: Pairs, pairs: Pairs) -> bool:
    """Return whether the chain has a row: a weight of it becomes 0 when its uid is taken over."""
    return len(row) == len(pairs) and all(
        uid == own_uid and weight in {0, own_weight}
        for (uid, weight), (own_uid, own_weight) in zip(row, pairs, strict=True)
    )


def _submit(
    attempts: tuple[Attempt, ...],
    facts: ChainFacts,
    due: WeightRow | None,
    idle: Action,
) -> Action:
    """Return the action for the row that is due; no outcome is open."""
    if due is None or _is_done(attempts, due):
        return idle
    if facts.subnet.version_key > due.version_key:
        detail = f"the subnet's is {facts.subnet.version_key}, and that of our rules"
        return Action("stop", Refusal.VERSION_KEY, detail=f"{detail} {due.version_key}")
    if due.error is not None:
        return Action("nothing", due.error.code)
    wait = _wait(attempts, facts, due)
    if wait is not None:
        return wait
    attempt = Attempt(
        epoch=due.epoch,
        number=sum(attempt.epoch == due.epoch for attempt in attempts) + 1,
        block=facts.block,
        best=facts.best,
        last_update=facts.last_update,
        pairs=due.pairs,
        version_key=due.version_key,
    )
    refusal = _refusal(facts, due.pairs)
    if refusal is not None:
        # no call is made: where rows are committed the chain refuses them at the reveal alone
        attempt = attempt.answered(facts.best, refusal)
    return Action("write", attempt=attempt)


def _refusal(facts: ChainFacts, pairs: Pairs) -> Receipt | None:
    """Return the refusal of a row by its length or its greatest share; None where it may be set."""
    own, subnet = facts.own, facts.subnet
    if own is not None and [uid for uid, _ in pairs] == [own.uid]:
        # a row of its own uid alone has no limits
        return None
    least = min(subnet.n, subnet.min_allowed)
    if len(pairs) < least:
        found = f"found {len(pairs)} entries, expected at least {least}"
        return Receipt("refused", Refusal.TOO_FEW, found)
    if has_too_large_share(pairs, subnet.max_weight_u16):
        found = f"found an entry above max_weights_limit, {subnet.max_weight_u16} of 65535"
        return Receipt("refused", Refusal.TOO_LARGE, found)
    return None


def _is_done(attempts: tuple[Attempt, ...], due: WeightRow) -> bool:
    """Return whether no row is to be sent: one has landed, or is newer, or is final.

    A row of the same epoch that pays whoever took a slot over is sent once more, without it.
    """
    for attempt in attempts:
        if attempt.epoch > due.epoch:
            return True
        is_to_repeat = attempt.outcome is Outcome.LAPSED or pays_another(attempt, due)
        if attempt.epoch < due.epoch or is_to_repeat:
            continue
        code = None if attempt.receipt is None else attempt.receipt.code
        if attempt.outcome is not Outcome.REFUSED or code not in PASSING:
            return True
    return False


def pays_another(attempt: Attempt, due: WeightRow) -> bool:
    """Return whether an attempt pays, or is going to, who took a slot over since it was sent."""
    is_of_slots = attempt.outcome in {Outcome.COMMITTED, Outcome.INHERITED}
    return is_of_slots and bool(due.pairs) and attempt.pairs != due.pairs


def unable(own: Neuron | None) -> Refusal | None:
    """Return why a validator can send no row whatever is due; None where it can."""
    if own is None:
        return Refusal.NOT_REGISTERED
    return None if own.permit else Refusal.NO_PERMIT


def _wait(attempts: tuple[Attempt, ...], facts: ChainFacts, due: WeightRow) -> Action | None:
    """Return why a row cannot be sent at a block, and until when; None where it can."""
    own, subnet = facts.own, facts.subnet
    newest = max((attempt.newest_block for attempt in attempts), default=0)
    if facts.block < newest:
        # an endpoint that lags behind the one before would have an older row read as a new one
        return Action("wait", "older-block", newest)
    cannot = unable(own)
    if cannot is not None:
        return Action("wait", cannot, subnet.next_epoch_block if own else None)
    last = max((attempt.may_land_until or -1 for attempt in attempts), default=-1)
    if facts.block <= last:
        return Action("wait", "unknown", last + 1)
    passed = facts.last_update + subnet.rate_limit_blocks
    if facts.last_update and facts.block < passed:
        return Action("wait", Refusal.TOO_SOON, passed)
    if len(facts.pending) > MOST_PENDING:
        return Action("wait", Refusal.TOO_MANY_PENDING, subnet.next_epoch_block)
    refused = [a for a in attempts if a.epoch == due.epoch and a.outcome is Outcome.REFUSED]
    if refused and refused[-1].receipt is not None:
        doublings = min(len(refused) - 1, MOST_DOUBLINGS)
        until = refused[-1].receipt_best + BACKOFF_BLOCKS * 2**doublings
        if facts.block < until:
            return Action("wait", refused[-1].receipt.code or Refusal.OTHER, until)
    return None
