"""Verification of one signed file: its content and its signers, with nothing else at hand."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from tallystick.errors import InputError, TrustError
from tallystick.json_values import json_value
from tallystick_state.trust.checkpoint import read_note
from tallystick_state.trust.encoding import read_file
from tallystick_state.trust.envelope import MAX_ENVELOPE_BYTES, Envelope
from tallystick_state.trust.keys import PublicKey
from tallystick_state.trust.policy import TrustRoot
from tallystick_state.trust.proof import Proof, read_proof, row_text
from tallystick_state.trust.statement import (
    ADOPTION,
    CARRY,
    EVENTS,
    PAYLOAD_TYPE,
    POOLS,
    TRUST,
    Statement,
    statement_of,
)

_LONGEST = 200
# the canonical form of proof-1; another object of JSON may have its members in any order
_PROOF = re.compile(rb'\{"checkpoint":"([^"\\]|\\.)*","format":1,"leaf":')
_SIGNATURE_LINE = "\n\n\N{EM DASH} ".encode()


@attrs.frozen
class Against:
    """The keys, block and row by which a file is verified.

    Attributes:
        root: a trust file; None where there is none.
        keys: keys, each of which must have signed.
        block: the block that the caller states.
        row: the key of the row that a proof must show, or its first parts; None: any.
    """

    root: TrustRoot | None = None
    keys: tuple[PublicKey, ...] = ()
    block: int | None = None
    row: tuple[object, ...] | None = None

    @property
    def is_empty(self) -> bool:
        """True without a trust file and keys: nothing can be verified."""
        return self.root is None and not self.keys

    @property
    def known(self) -> frozenset[PublicKey]:
        """Every key that counts: those that are given, and of a trust file its keys and hotkeys."""
        return self.trusted(() if self.root is None else self.root.events).union(self.keys)

    def trusted(self, hotkeys: Iterable[str] = ()) -> frozenset[PublicKey]:
        """Return the keys of the trust file, and those of some hotkeys."""
        if self.root is None:
            return frozenset()
        named = {trusted.public for trusted in self.root.keys.values()}
        return frozenset(named.union(*map(self.root.keys_for, hotkeys)))

    def names(self, keys: Collection[PublicKey]) -> tuple[str, ...]:
        """Return the names of keys in the trust file, or the keys as text."""
        return tuple(sorted(map(str, keys))) if self.root is None else self.root.names(keys)


@attrs.frozen
class _Signed:
    """The content of a signed file, and who signed it.

    Attributes:
        kind: of the file.
        content: as a JSON object.
        lines: the same, for people.
        hints: of the signatures at their keys, for people.
        signers: the known keys that signed it.
        trusted: the keys of the trust file of which one must have signed.
        code: of the error where one is lacking.
        reasons: why signatures do not count, behind its message.
    """

    kind: str
    content: Mapping[str, Any]
    lines: Iterable[str]
    hints: Iterable[str]
    signers: frozenset[PublicKey]
    trusted: frozenset[PublicKey]
    code: str = "unsigned"
    reasons: str = ""


def verify(path: Path, against: Against) -> tuple[dict[str, Any], list[str]]:
    """Return the content of a signed file and its known signers, as JSON and as lines for people.

    By a trust file an adoption or a withdrawal needs the groups ``adopt``, a trust file the groups
    ``root``, a batch of events its validator, anything else one key of the file. In the JSON
    ``checked`` is whether there was a key to verify by.

    Args:
        path: a file with a DSSE envelope, a signed note such as a checkpoint, or a proof.
        against: by what it is verified.

    Raises:
        InputError: the file cannot be read, or is none of these.
        TrustError: it does not hold, shows another row than the one that is asked for, or who
            signed does not suffice.
    """
    signed = _read(path, against)
    lacking = [str(key) for key in against.keys if key not in signed.signers]
    if against.root is not None and signed.signers.isdisjoint(signed.trusted):
        lacking.append("a key of the trust file")
    if lacking:
        message = f"found no signature of {', '.join(lacking[:3])}, expected one{signed.reasons}"
        raise TrustError(message, code=signed.code)
    names, is_checked = against.names(signed.signers), not against.is_empty
    lines = [*signed.lines, *(f"signed by {name}" for name in names)]
    if not is_checked:
        lines += [f"a signature that names {hint}" for hint in signed.hints]
        lines.append("no signature was verified: give --trust or --key")
    ends = {"signed_by": [*names], "checked": is_checked}
    return {"kind": signed.kind, **signed.content, **ends}, lines


def _read(path: Path, against: Against) -> _Signed:
    data, where = read_file(path, MAX_ENVELOPE_BYTES, "the file"), str(path)
    if _PROOF.match(data):
        return _proof(read_proof(data, where), against)
    if against.row is not None:
        raise InputError(f"{where}: found no proof, expected one, as a row is asked for (--row)")
    if data.lstrip(b" \t\r\n").startswith(b"{"):
        return _envelope(Envelope.of_json(data, where), where, against)
    if _SIGNATURE_LINE in data:
        note = read_note(data)
        names = [signature.name for signature in note.signatures]
        content, lines = {"text": note.text, "names": names}, note.text.splitlines()
        signers = note.signers(against.known)
        return _Signed("note", content, lines, names, signers, against.known)
    raise InputError(
        f"{where}: found nothing that is signed, expected an envelope, a note or a proof"
    )


def _envelope(envelope: Envelope, where: str, against: Against) -> _Signed:
    statement, trusted = None, against.trusted()
    if envelope.payload_type == PAYLOAD_TYPE:
        statement = statement_of(envelope, where)
    if statement is not None and (root := against.root) is not None:
        kind = statement.predicate_type
        if kind in (ADOPTION, CARRY, EVENTS, POOLS):
            # what a state would compare is not known here, but for the network
            root.authorise(Statement(kind, {"network": root.network}), envelope, against.block)
        elif kind == TRUST:
            root.check_thresholds(root.root, envelope)
        if kind == EVENTS:
            trusted = against.trusted([statement.predicate["validator"]])
    content = {
        "statement": envelope.statement_digest,
        "payload_type": envelope.payload_type,
        "predicate_type": None if statement is None else statement.predicate_type,
        "subject": [] if statement is None else _subjects(statement),
        "predicate": None if statement is None else statement.predicate,
        "keyids": [signature.keyid for signature in envelope.signatures],
    }
    hints = (f"the key {item.keyid or 'of nobody'}" for item in envelope.signatures)
    verification = envelope.verify([*against.keys, *trusted])
    reasons = "".join(f"; a signature {reason}" for _, reason in verification.failed[:3])
    lines, signers = told(envelope, statement), verification.signers
    code = "threshold-not-met"
    return _Signed("envelope", content, lines, hints, signers, trusted, code, reasons)


def _proof(proof: Proof, against: Against) -> _Signed:
    proof.check()
    key, asked = proof.row[:-1], against.row
    # as text, since in JSON 1 is neither true nor 1.0
    if asked is not None and row_text(tuple(key[: len(asked)])) != row_text(asked):
        raise TrustError(
            f"found the row of {row_text(key)}, expected one of {row_text(asked)}",
            code="row-missing",
        )
    signers, content = proof.checkpoint.signers(against.known), {"proof": json_value(proof)}
    return _Signed("proof", content, proof.told(), (), signers, against.known)


def _subjects(statement: Statement) -> list[dict[str, Any]]:
    return [
        {"name": subject.name, "digest": dict(subject.digests)} for subject in statement.subject
    ]


def told(envelope: Envelope, statement: Statement | None) -> Iterator[str]:
    """Return the statement as lines for people: who signs has to read it."""
    if statement is None:
        yield f"a payload of the type {envelope.payload_type}, which is not read"
    else:
        yield f"{statement.kind or statement.predicate_type}"
        for name, value in statement.predicate.items():
            if name != "format":
                yield f"  {name}: {_shown(value)}"
        for subject in statement.subject:
            digests = ", ".join(f"{name}:{digits}" for name, digits in subject.digests.items())
            yield f"  subject: {subject.name or '_'} {digests}"
    yield f"statement {envelope.statement_digest}"


def _shown(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case list():
            return f"{len(value)} in all"
        case dict():
            return "an object"
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
