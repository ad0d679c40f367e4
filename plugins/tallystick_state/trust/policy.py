"""Policy: the trust file as a value, and the decisions by it, without a file or a clock.

A group reaches its threshold by distinct keys, k of n. A key under two names counts once in a
group, and a key in two groups in each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import attrs

from tallystick.errors import TrustError
from tallystick.json_values import JsonKey, json_object
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

    def keys_of(self, groups: Collection[str]) -> Iterator[PublicKey]:
        """Yield the keys of some groups."""
        for group in groups:
            for name in self.groups[group].keys:
                yield self.keys[name].public

    def keys_for(self, hotkey: str) -> tuple[PublicKey, ...]:
        """Return the keys of a hotkey: those that name it, and its own of sr25519 (SS58)."""
        named = [key.public for key in self.keys.values() if key.hotkey == hotkey]
        own = key_of_hotkey(hotkey)
        return tuple(dict.fromkeys([*named, *([own] if own else [])]))

    def statement(self) -> Statement:
        """Return the statement that a rotation to the file signs."""
        before = {} if self.previous is None else {"previous": self.previous}
        subject = Subject.of("trust.toml", self.digest)
        return Statement.of(TRUST, subject, version=self.version, digest=self.digest, **before)

    def carry_statement(self, digest: str) -> Statement:
        """Return the statement that a state of the file begins with values of a digest."""
        subject = Subject.of("carry", digest)
        return Statement.of(CARRY, subject, network=self.network, trust=self.digest, carry=digest)


def key_of_hotkey(hotkey: str) -> PublicKey | None:
    """Return the key of sr25519 that a hotkey is the SS58 address of; None where it is none."""
    try:
        return PublicKey("sr25519", ss58_bytes(hotkey))
    except (ValueError, TrustError):
        return None


def authorise(root: TrustRoot, statement: Statement, envelope: Envelope, block: int | None) -> None:
    """Allow what a statement says by a trust file, or refuse it.

    A batch of events is signed by its validator, all else by the groups of ``adopt``.

    Args:
        root: the trust file in force.
        statement: what must have been signed, as the caller knows it from its own state. Keys that
            its predicate leaves out are not compared, nor are subjects where it has none.
        envelope: what was signed.
        block: the block that the caller states; None where none is stated.

    Raises:
        TrustError: the envelope says something else, something has expired, the validator is not
            heard, or a threshold is not met.
    """
    signed = statement_of(envelope, _WHERE)
    check_agreement(statement, signed)
    check_root_block(root, block)
    check_block(signed, block)
    if statement.predicate_type == EVENTS:
        _check_validator(root, signed.predicate["validator"], envelope)
    else:
        check_thresholds(root, root.adopt, envelope)


def authorise_rotation(
    old: TrustRoot,
    new: TrustRoot,
    envelope: Envelope,
    block: int | None,
    *,
    held: Collection[str] = (),
) -> None:
    """Allow a trust file to follow another, or refuse it.

    An expired one may still sign its successor, or nothing could follow it.

    Args:
        old: the trust file in force.
        new: the one to come.
        envelope: signed by the groups ``root`` of both.
        block: the block that the caller states, at which the new one must not have expired.
        held: the digests of every trust file that was in force before.

    Raises:
        TrustError: the new one is no successor of the old one, has expired, or a threshold is not
            met.
    """
    check_succession(old, new, held=held)
    check_agreement(new.statement(), statement_of(envelope, _WHERE))
    check_root_block(new, block)
    check_thresholds(old, old.root, envelope)
    check_thresholds(new, new.root, envelope)


def check_succession(old: TrustRoot, new: TrustRoot, *, held: Collection[str] = ()) -> None:
    """Refuse a trust file that cannot follow another, whoever signed.

    Raises:
        TrustError: it was in force before, is of another network, names another predecessor, or has
            no greater version.
    """
    if new.digest in (old.digest, *held):
        message = f"found the trust file {new.digest}, which was in force, expected a new one"
        raise TrustError(message, code="circular-rotation")
    if new.network != old.network:
        message = f"found a trust file of {new.network!r}, expected one of {old.network!r}"
        raise TrustError(message, code="other-network")
    if new.version <= old.version:
        message = f"found version {new.version} of the trust file, expected more than {old.version}"
        raise TrustError(message, code="rollback")
    if new.previous != old.digest:
        previous = new.previous or "none"
        message = (
            f"found {previous} as the trust file before, expected the one in force: {old.digest}"
        )
        raise TrustError(message, code="other-previous")


def check_agreement(expected: Statement, signed: Statement) -> None:
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
            message = f"found {name} {_shown(stated)} in the statement, expected {_shown(value)}"
            raise TrustError(message, code=_CODES.get(name, "bad-statement"))
    if expected.subject and _digests(signed) != _digests(expected):
        message = "found other digests as the subject of the statement, expected those of its files"
        raise TrustError(message, code="other-subject")


def check_root_block(root: TrustRoot, block: int | None) -> None:
    """Refuse a trust file that has expired at a block.

    Raises:
        TrustError: it has, or it expires and no block is stated.
    """
    what = f"version {root.version} of the trust file"
    _check_expiry(root.expires_at_block, block, what, "expired-root")


def check_block(signed: Statement, block: int | None) -> None:
    """Refuse a statement that has expired at a block.

    Raises:
        TrustError: it has, or it expires and no block is stated.
    """
    expiry = signed.predicate.get("expires_at_block")
    _check_expiry(expiry, block, "the statement", "expired-statement")


def _check_expiry(expiry: int | None, block: int | None, what: str, code: str) -> None:
    if expiry is None:
        return
    if block is None:
        message = f"{what} expires at block {expiry}, and no block is stated: state the block"
        raise TrustError(message, code="block-needed")
    if block >= expiry:
        message = f"{what} expired at block {expiry}, and block {block} is stated"
        raise TrustError(message, code=code)


def check_thresholds(root: TrustRoot, groups: Collection[str], envelope: Envelope) -> None:
    """Refuse an envelope whose signatures do not reach the threshold of each of some groups.

    Raises:
        TrustError: of which groups, who signed, and which signatures failed.
    """
    verification = envelope.verify(root.keys_of(groups))
    lacking = [
        message
        for name in groups
        if (message := _lacking(root, name, verification.signers)) is not None
    ]
    if lacking:
        raise _not_met(root, "; ".join(lacking), verification)


def _lacking(root: TrustRoot, name: str, signers: Collection[PublicKey]) -> str | None:
    """Return the signatures that a group lacks, as text; None if it lacks none."""
    group = root.groups[name]
    count = len({root.keys[key].public for key in group.keys} & set(signers))
    if count >= group.threshold:
        return None
    return f"{name} has {count} of {len(group.keys)} keys, expected {group.threshold}"


def _check_validator(root: TrustRoot, validator: str, envelope: Envelope) -> None:
    if validator not in root.events:
        message = f"found a batch of {validator!r}, expected a validator that the trust file hears"
        raise TrustError(message, code="unheard-validator")
    verification = envelope.verify(root.keys_for(validator))
    if not verification.signers:
        raise _not_met(root, f"no key of {validator} has signed, expected one", verification)


def _not_met(root: TrustRoot, lacking: str, verification: Verification) -> TrustError:
    by_key = {item.public: name for name, item in sorted(root.keys.items(), reverse=True)}
    signers = sorted(by_key.get(item, str(item)) for item in verification.signers)
    failed = [
        f"a signature {f'of {item.keyid[:16]} ' if item.keyid else ''}{reason}"
        for item, reason in verification.failed[:_MOST_TOLD]
    ]
    more = len(verification.failed) - len(failed)
    parts = [lacking, f"signed by {', '.join(signers) or 'none of its keys'}", *failed]
    message = "; ".join([*parts, *([f"and {more} more"] if more else [])])
    return TrustError(message, code="threshold-not-met")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:99]}…"


def _digests(statement: Statement) -> list[str]:
    return sorted(subject.digests.get("sha256", "") for subject in statement.subject)
