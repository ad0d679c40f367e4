"""Policy: the trust file as a value, and the decisions by it, without a file or a clock.

A group reaches its threshold by distinct keys, k of n. A key under two names counts once in a
group, and a key in two groups in each.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import attrs

from tallystick.errors import TrustError
from tallystick.json_values import JsonKey, json_object
from tallystick.records.messages import shown
from tallystick_state.trust.encoding import ss58_bytes
from tallystick_state.trust.envelope import Envelope, Verification
from tallystick_state.trust.keys import PublicKey
from tallystick_state.trust.statement import CARRY, EVENTS, TRUST, Statement, Subject, statement_of

_WHERE = "the envelope"
_MOST_TOLD = 5
_CODES: Mapping[str, str] = {
    "format": "bad-statement",
    "action": "other-action",
    "major": "other-action",
    "genesis": "other-genesis",
    "network": "other-network",
    "line": "other-line",
    "previous": "other-previous",
    "rule_set": "other-rules",
    "carry": "other-carry",
    "pools": "other-pools",
    "trust": "other-root",
    "digest": "other-rules",
    "epoch": "other-epoch",
    "sequence": "other-sequence",
    "validator": "other-validator",
    "events": "not-in-batch",
    "version": "rollback",
}


@json_object(JsonKey("public", form=str), JsonKey("keyid", "public.keyid"), "hotkey")
@attrs.frozen
class TrustedKey:
    """A key of a trust file.

    Attributes:
        name: how the file calls it.
        public: the key.
        hotkey: whose batches it signs.
    """

    name: str
    public: PublicKey
    hotkey: str | None = None


@attrs.frozen
class SignerGroup:
    """Keys that decide together.

    Attributes:
        keys: their names.
        threshold: number of distinct keys that must sign.
    """

    keys: tuple[str, ...]
    threshold: int


@json_object(
    *("version", "digest", "network", "previous", "expires_at_block"),
    *("adopt", "root", "events", "keys", "groups", JsonKey("gate", left_out="none")),
)
@attrs.frozen
class TrustRoot:
    """The content of a trust file.

    Attributes:
        version: grows with each rotation.
        network: keeps statements of one network out of another.
        previous: the digest of the trust file before; None of a first one.
        expires_at_block: from this block on it allows nothing but its own successor.
        keys: by name.
        groups: by name.
        adopt: the groups that adopt and withdraw rules; each has to reach its threshold.
        root: the groups that rotate the trust file, likewise.
        events: the hotkeys of the validators that are heard.
        digest: of what the file says.
        text: the file.
        gate: the digest of the policy that a change of rules has to pass; None without.
    """

    version: int
    network: str
    previous: str | None
    expires_at_block: int | None
    keys: Mapping[str, TrustedKey]
    groups: Mapping[str, SignerGroup]
    adopt: tuple[str, ...]
    root: tuple[str, ...]
    events: tuple[str, ...]
    digest: str
    text: str = attrs.field(repr=False)
    gate: str | None = None

    def keys_for(self, hotkey: str) -> tuple[PublicKey, ...]:
        """Return the keys of a hotkey: those that name it, and its own of sr25519 (SS58)."""
        named = [key.public for key in self.keys.values() if key.hotkey == hotkey]
        own = key_of_hotkey(hotkey)
        return tuple(dict.fromkeys([*named, *([own] if own else [])]))

    def names(self, keys: Collection[PublicKey]) -> tuple[str, ...]:
        """Return what the file calls some keys; another one is named by its text."""
        names = {key.name for key in self.keys.values() if key.public in keys}
        others = {*keys} - {key.public for key in self.keys.values()}
        return tuple(sorted({*names, *map(str, others)}))

    def statement(self, predicate_type: str, subject: Subject, **members: Any) -> Statement:  # noqa: ANN401  # those of its schema
        """Return a statement for the network of the file; see `Statement.of`."""
        return Statement.of(predicate_type, subject, network=self.network, **members)

    def carry_statement(self, digest: str) -> Statement:
        """Return the statement that a state of the file begins with values of a digest."""
        subject = Subject.of("carry", digest)
        return self.statement(CARRY, subject, trust=self.digest, carry=digest)

    def rotation_statement(self) -> Statement:
        """Return the statement that a rotation to the file signs."""
        before = {} if self.previous is None else {"previous": self.previous}
        subject = Subject.of("trust.toml", self.digest)
        return Statement.of(TRUST, subject, version=self.version, digest=self.digest, **before)

    def authorise(
        self, statement: Statement, envelope: Envelope, block: int | None
    ) -> tuple[str, ...]:
        """Return the names of those who signed what a statement says, as the file asks for.

        A batch of events is signed by its validator, all else by the groups of ``adopt``.

        Args:
            statement: what must have been signed, as the caller knows it from its own state. Keys
                that its predicate leaves out are not compared, nor are subjects where it has none.
            envelope: what was signed.
            block: the block that the caller states; None where none is stated.

        Raises:
            TrustError: the envelope says something else, something has expired, the validator is
                not heard, or a threshold is not met.
        """
        signed = statement_of(envelope, _WHERE)
        _check_agreement(statement, signed)
        self.check_block(block)
        expiry = signed.predicate.get("expires_at_block")
        _check_expiry(expiry, block, "the statement", "expired-statement")
        if statement.predicate_type == EVENTS:
            return self._check_validator(signed.predicate["validator"], envelope)
        return self.check_thresholds(self.adopt, envelope)

    def authorise_successor(
        self,
        new: TrustRoot,
        envelope: Envelope,
        block: int | None,
        *,
        held: Collection[str] = (),
    ) -> None:
        """Allow another trust file to follow the one in force, or refuse it.

        An expired one may still sign its successor, or nothing could follow it.

        Args:
            new: the one to come.
            envelope: signed by the groups ``root`` of both.
            block: the block that the caller states, at which the new one must not have expired.
            held: the digests of every trust file that was in force before.

        Raises:
            TrustError: the new one is no successor of the old one, has expired, or a threshold is
                not met.
        """
        self.check_successor(new, held=held)
        _check_agreement(new.rotation_statement(), statement_of(envelope, _WHERE))
        new.check_block(block)
        for root in (self, new):
            root.check_thresholds(root.root, envelope)

    def check_successor(self, new: TrustRoot, *, held: Collection[str] = ()) -> None:
        """Refuse a trust file that cannot follow this one, whoever signed.

        Raises:
            TrustError: it was in force before, is of another network, names another predecessor,
                or has no greater version.
        """
        if new.digest in (self.digest, *held):
            message = f"found the trust file {new.digest}, which was in force, expected a new one"
            raise TrustError(message, code="circular-rotation")
        if new.network != self.network:
            message = f"found a trust file of {new.network!r}, expected one of {self.network!r}"
            raise TrustError(message, code="other-network")
        if new.version <= self.version:
            message = f"found version {new.version} of the trust file, expected more than"
            raise TrustError(f"{message} {self.version}", code="rollback")
        if new.previous != self.digest:
            message = f"found {new.previous or 'none'} as the trust file before, expected the one"
            raise TrustError(f"{message} in force: {self.digest}", code="other-previous")

    def check_block(self, block: int | None) -> None:
        """Refuse the file where it has expired at a block.

        Raises:
            TrustError: it has, or it expires and no block is stated.
        """
        what = f"version {self.version} of the trust file"
        _check_expiry(self.expires_at_block, block, what, "expired-root")

    def check_thresholds(self, groups: Collection[str], envelope: Envelope) -> tuple[str, ...]:
        """Return the names of those who signed, who reach the threshold of each of some groups.

        Raises:
            TrustError: of which groups they do not, who signed, and which signatures failed.
        """
        verification = envelope.verify(key.public for key in self.keys.values())
        lacking = []
        for name in groups:
            group = self.groups[name]
            count = len({self.keys[key].public for key in group.keys} & verification.signers)
            if count < group.threshold:
                of_keys = f"{count} of {len(group.keys)} keys"
                lacking.append(f"{name} has {of_keys}, expected {group.threshold}")
        if lacking:
            raise self._not_met("; ".join(lacking), verification)
        return self.names(verification.signers)

    def _check_validator(self, validator: str, envelope: Envelope) -> tuple[str, ...]:
        if validator not in self.events:
            message = f"found a batch of {validator!r}, expected a validator that the trust file"
            raise TrustError(f"{message} hears", code="unheard-validator")
        verification = envelope.verify(self.keys_for(validator))
        if not verification.signers:
            raise self._not_met(f"no key of {validator} has signed, expected one", verification)
        return self.names(verification.signers)

    def _not_met(self, lacking: str, verification: Verification) -> TrustError:
        signers = ", ".join(self.names(verification.signers)) or "none of its keys"
        failed = [
            f"a signature {f'of {item.keyid[:16]} ' if item.keyid else ''}{reason}"
            for item, reason in verification.failed[:_MOST_TOLD]
        ]
        more = len(verification.failed) - len(failed)
        parts = [lacking, f"signed by {signers}", *failed, *([f"and {more} more"] if more else [])]
        return TrustError("; ".join(parts), code="threshold-not-met")


def key_of_hotkey(hotkey: str) -> PublicKey | None:
    """Return the key of sr25519 that a hotkey is the SS58 address of; None where it is none."""
    try:
        return PublicKey("sr25519", ss58_bytes(hotkey))
    except (ValueError, TrustError):
        return None


def _check_agreement(expected: Statement, signed: Statement) -> None:
    """Refuse a statement that does not say what is expected.

    Raises:
        TrustError: the first difference, by its code.
    """
    if signed.predicate_type != expected.predicate_type:
        kind = signed.predicate_type[:80]
        message = f"found a statement {kind!r}, expected {expected.predicate_type!r}"
        raise TrustError(message, code="other-predicate")
    for name, value in expected.predicate.items():
        stated = signed.predicate.get(name)
        if stated != value:
            message = f"found {name} {shown(stated)} in the statement, expected {shown(value)}"
            raise TrustError(message, code=_CODES.get(name, "bad-statement"))
    if expected.subject and _digests(signed) != _digests(expected):
        message = "found other digests as the subject of the statement, expected those of its files"
        raise TrustError(message, code="other-subject")


def _check_expiry(expiry: int | None, block: int | None, what: str, code: str) -> None:
    if expiry is None:
        return
    if block is None:
        message = f"{what} expires at block {expiry}, and no block is stated: state the block"
        raise TrustError(message, code="block-needed")
    if block >= expiry:
        message = f"{what} expired at block {expiry}, and block {block} is stated"
        raise TrustError(message, code=code)


def _digests(statement: Statement) -> list[str]:
    return sorted(subject.digests.get("sha256", "") for subject in statement.subject)
