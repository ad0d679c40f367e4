"""Signed batches: what a validator says that it recorded, event by event, by digest.

A batch holds no events. Whoever imports one has the file of them too; the batch says which of them
its validator stands for.
"""

from __future__ import annotations

import json

import attrs

from tallystick_state.authority import Authority, authority_of, stored_envelopes
from tallystick_state.event import StateEvent
from tallystick_state.store.transaction import Transaction
from tallystick_state.trust.envelope import Envelope
from tallystick_state.trust.policy import TrustRoot, authorise
from tallystick_state.trust.statement import EVENTS, Statement, statement_of


@attrs.frozen
class Batch:
    """A batch whose signature holds.

    Attributes:
        validator: the hotkey of who signed it.
        events: what stands for each event; see `StateEvent.claim_digest`.
        authority: the envelope, and the block that was stated with it.
    """

    validator: str
    events: frozenset[str]
    authority: Authority

    def holds(self, event: StateEvent) -> bool:
        """Whether its validator stands for an event."""
        return event.validator == self.validator and event.claim_digest in self.events


def batch_of(root: TrustRoot, genesis: str, authority: Authority) -> Batch:
    """The batch that an envelope is, once its signature is found to hold.

    Args:
        root: the trust root in force.
        genesis: the digest of what the state began with.
        authority: the envelope, and the block that is stated with it.

    Raises:
        TrustError: there is no envelope, it is of another state, or nobody has signed it who may.
    """
    envelope = authority.signed("a batch of events")
    known = Statement(EVENTS, {"genesis": genesis, "network": root.network})
    authorise(root, "events", known, envelope, authority.block)
    said = statement_of(envelope, "the batch").predicate
    return Batch(said["validator"], frozenset(said["events"]), authority)


def batch_with(
    transaction: Transaction, validator: str, claim_digest: str, where: str
) -> Envelope | None:
    """The signed batch of a validator that lists an event, if a state has taken one.

    Args:
        transaction: of the state.
        validator: its hotkey.
        claim_digest: what stands for the event; see `StateEvent.claim_digest`.
        where: the store, for errors.

    Raises:
        DamagedError: an envelope that the log names is missing, or was changed.
    """
    envelopes = stored_envelopes(transaction.envelope, where)
    for body in map(json.loads, transaction.bodies_of_kind("batch")):
        if body["validator"] == validator:
            envelope = authority_of(body, envelopes).envelope
            if envelope and claim_digest in statement_of(envelope, where).predicate["events"]:
                return envelope
    return None
