"""Authority: the signatures behind a change that not everyone may make.

A state without a trust file is its operator's: nothing of it is signed. In a state with one, what
the operator alone must not decide is signed as the file says, whichever way it comes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.errors import DamagedError, StateError, TrustError
from tallystick.io.paths import PathLike, path_of

if TYPE_CHECKING:
    from pathlib import Path

    from tallystick_state.event import StateEvent
    from tallystick_state.store.transaction import Transaction
    from tallystick_state.trust.envelope import Envelope
    from tallystick_state.trust.gate_receipt import GateReceipt
    from tallystick_state.trust.policy import TrustRoot


@attrs.frozen
class Authority:
    """The signatures and the block behind an adoption, a withdrawal, a batch, or a trust file.

    Attributes:
        envelope: the signed statement; None where the operator decides alone.
        block: the block that the caller states; None where it states none.
        gate_receipt: of an adoption, that it passes the policy that the trust file names; None
            without.
    """

    envelope: Envelope | None = None
    block: int | None = None
    gate_receipt: GateReceipt | None = None

    @property
    def statement(self) -> str | None:
        """The digest of the signed statement: what an entry of the log names."""
        return None if self.envelope is None else self.envelope.statement_digest

    def signed(self, what: str) -> Envelope:
        """Return the envelope, where there must be one.

        Args:
            what: what it has to be of, for the error.

        Raises:
            TrustError: there is none.
        """
        if self.envelope is None:
            raise TrustError(
                f"found no signature of {what}, expected one, as this state has a trust file: sign "
                "it with tallystick sign, and give the envelope by --signed",
                code="unsigned",
            )
        return self.envelope

    def check_unsigned(self, what: str) -> None:
        """Refuse an envelope where nothing says whose signatures count.

        Raises:
            TrustError: there is one.
        """
        if self.envelope is not None:
            raise TrustError(
                f"found a signature of {what}, expected none, as this state has no trust file: "
                "give it one with tallystick trust rotate",
                code="no-root",
            )

    def check_gate(self, root: TrustRoot | None, previous: str, rule_set: str) -> None:
        """Refuse an adoption whose receipt of a gate is not the one that a trust file asks for.

        Args:
            root: the trust file in force; None without.
            previous: the digest of the rules in force before the adoption.
            rule_set: the digest of the rules that are adopted.

        Raises:
            TrustError: there must be one and is none, there is one that nothing asks for, it is of
                another policy or change, or did not pass.
        """
        policy = None if root is None else root.gate
        receipt = self.gate_receipt
        if policy is not None and receipt is not None:
            receipt.check(policy, previous, rule_set)
        elif receipt is not None:
            raise TrustError(
                "found the receipt of a gate, expected none, as no trust file of this state names "
                "a policy: leave it out, or rotate to a trust file with gate",
                code="no-gate",
            )
        elif policy is not None:
            raise TrustError(
                f"found no receipt of a gate, expected one by the policy {policy}, as the trust "
                "file says: make it with tallystick rules gate, and give it by --gate-receipt",
                code="gate-missing",
            )


def nothing_to_sign() -> StateError:
    """Return the refusal to make a statement in a state that asks nobody for signatures."""
    return StateError(
        "found a state without a trust file, expected one, as nothing else asks for signatures: "
        "give it one with tallystick trust rotate",
        code="no-root",
    )


def read_authority(
    signed: Path | None, block: int | None = None, gate_receipt: Path | None = None
) -> Authority:
    """Return the authority that files hold.

    Args:
        signed: the envelope; None without.
        block: the block that is stated; None where none is.
        gate_receipt: the receipt of a gate; None without.

    Raises:
        InputError: a file cannot be read.
        TrustError: a file holds no envelope, or no receipt.
    """
    envelope, receipt = None, None
    if signed is not None:
        from tallystick_state.trust.envelope import Envelope  # where one is given

        envelope = Envelope.read(signed)
    if gate_receipt is not None:
        from tallystick_state.trust.gate_receipt import GateReceipt  # where one is given

        receipt = GateReceipt.read(gate_receipt)
    return Authority(envelope, block, receipt)


OPERATOR = Authority()
"""The operator of the state, who signs nothing."""
GATE_RECEIPT = "gate_receipt"
"""Key of an entry with the receipt of a gate."""


def authority_of(body: Mapping[str, Any], transaction: Transaction) -> Authority:
    """Return the authority behind an entry of a log.

    Args:
        body: of the entry, which may name a statement, state a block, and hold a receipt.
        transaction: on the store that has the envelopes of the log.

    Raises:
        DamagedError: the envelope that it names is missing, or another one.
        TrustError: the receipt is none.
    """
    statement, block = body.get("statement"), body.get("block")
    receipt = None
    if GATE_RECEIPT in body:
        from tallystick_state.trust.gate_receipt import GateReceipt  # where there is one

        receipt = GateReceipt.of(body[GATE_RECEIPT], "the log")
    if statement is None:
        return Authority(None, block, receipt)
    envelope = transaction.envelope(statement)
    if envelope is None:
        raise DamagedError(
            f"found no envelope, expected the one of {statement:.80}, which an entry names: "
            "restore a copy"
        )
    return Authority(envelope, block, receipt)


def read_root(path: PathLike) -> TrustRoot:
    """Return the trust file at a place.

    Raises:
        InputError: the file cannot be read.
        TrustError: it is no trust file.
    """
    from tallystick_state.trust import trust_file  # where there is a trust file

    return trust_file.read(path_of(path, "a trust file"))


def root_of(digest: str, text: str, where: str) -> TrustRoot:
    """Return the trust file that an entry holds.

    Args:
        digest: of the file.
        text: of the file, whole.
        where: the store or the file of the entry, for errors.

    Raises:
        DamagedError: it is none, or another one than the entry says.
    """
    from tallystick_state.trust import trust_file  # where there is a trust file

    found = "a trust file that does not hold"
    try:
        root = trust_file.parse(text, f"{where}#trust.toml")
    except TrustError as error:
        found = f"{found} ({error})"
    else:
        if (root.digest, root.text) == (digest, text):
            return root
        found = f"a trust file {root.digest} that is not the one of its entry"
    raise DamagedError(
        f"{where}: found an entry with {found}, expected one with the file, whole: restore a copy"
    )


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
        """Return whether its validator stands for an event."""
        return event.validator == self.validator and event.claim_digest in self.events


def batch_of(root: TrustRoot, genesis: str, authority: Authority) -> Batch:
    """Return the batch that an envelope is, once its signature is found to hold.

    Args:
        root: the trust root in force.
        genesis: the digest of what the state began with.
        authority: the envelope, and the block that is stated with it.

    Raises:
        TrustError: there is no envelope, it is of another state, or nobody has signed it who may.
    """
    from tallystick_state.trust.statement import EVENTS, Statement, statement_of

    envelope = authority.signed("a batch of events")
    statement = Statement(EVENTS, {"genesis": genesis, "network": root.network})
    root.authorise(statement, envelope, authority.block)
    batch = statement_of(envelope, "the batch").predicate
    return Batch(batch["validator"], frozenset(batch["events"]), authority)


def batch_with(
    transaction: Transaction, validator: str, claim_digest: str, where: str
) -> Envelope | None:
    """Return the signed batch of a validator that lists an event, if a state has taken one.

    Args:
        transaction: of the state.
        validator: its hotkey.
        claim_digest: what stands for the event; see `StateEvent.claim_digest`.
        where: the store, for errors.

    Raises:
        DamagedError: an envelope that the log names is missing, or was changed.
    """
    from tallystick_state.trust.statement import statement_of  # where something is signed

    for body in (json.loads(entry.body) for entry in transaction.of_kind("batch")):
        if body["validator"] == validator:
            envelope = authority_of(body, transaction).envelope
            if envelope and claim_digest in statement_of(envelope, where).predicate["events"]:
                return envelope
    return None
