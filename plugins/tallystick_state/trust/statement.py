"""Statements that are signed: in-toto Statements v1, with the predicates of this engine.

A statement names its subjects by digest and says something of them, its *predicate*. Ours are
canonical (RFC 8785), so that one statement has one digest. See github.com/in-toto/attestation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from typing import Any

import attrs

from tallystick.canonical import PREFIX, canonical_bytes
from tallystick.errors import TrustError
from tallystick_state.trust.encoding import check_schema, read_file, sound_json
from tallystick_state.trust.envelope import Envelope

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
MAX_EVENTS = 100_000
"""Maximum number of events of one signed batch."""
MAX_RECEIPT_BYTES = 1024 * 1024
"""Maximum size of a receipt, in bytes."""
_RECEIPT_SUFFIX = ".receipt.json"

_PREDICATES = "urn:tallystick:predicate:"
RULE_SET, ADOPTION, POOLS, EVENTS, RECEIPT, TRUST, CARRY = _KINDS = tuple(
    f"{_PREDICATES}{name}-1"
    for name in ("rule-set", "adoption", "pools", "events", "receipt", "trust", "carry")
)


@attrs.frozen
class Subject:
    """A subject of a statement.

    Attributes:
        name: its name, which decides nothing; may be empty.
        digests: by algorithm, in hexadecimal digits.
    """

    name: str
    digests: Mapping[str, str]

    @classmethod
    def of(cls, name: str, digest: str) -> Subject:
        """Return the subject with a digest such as ``sha256:d75a…``."""
        return cls(name, {"sha256": digest.removeprefix(PREFIX)})


@attrs.frozen
class Statement:
    """A statement about some subjects.

    Attributes:
        predicate_type: what kind it is, such as `ADOPTION`.
        predicate: what it says, as a JSON object.
        subject: what it is about.
    """

    predicate_type: str
    predicate: Mapping[str, Any]
    subject: tuple[Subject, ...] = ()

    @classmethod
    def of(
        cls,
        predicate_type: str,
        *subject: Subject,
        **members: Any,  # noqa: ANN401  # those of its schema
    ) -> Statement:
        """Return the statement with a predicate of this engine, in format 1.

        >>> digest = f"sha256:{'0' * 64}"
        >>> Statement.of(CARRY, Subject.of("carry", digest), carry=digest).kind
        'carry'

        Args:
            predicate_type: the kind, such as `ADOPTION`.
            subject: what it is about.
            members: of the predicate, as ``docs/canonical.md`` lists them.
        """
        return cls(predicate_type, {"format": 1, **members}, subject)

    @property
    def payload(self) -> bytes:
        """The statement as it is signed: RFC 8785."""
        return canonical_bytes(
            {
                "_type": STATEMENT_TYPE,
                "predicate": self.predicate,
                "predicateType": self.predicate_type,
                "subject": [
                    {"digest": subject.digests, "name": subject.name}
                    if subject.name
                    else {"digest": subject.digests}
                    for subject in self.subject
                ],
            }
        )

    @property
    def kind(self) -> str | None:
        """The name of its predicate, such as ``adoption``; None of another's."""
        if self.predicate_type not in _KINDS:
            return None
        return self.predicate_type.removeprefix(_PREDICATES).removesuffix("-1")

    def envelope(self) -> Envelope:
        """Return an envelope with the statement, which nobody has signed yet."""
        return Envelope(self.payload, PAYLOAD_TYPE)


def statement_of(envelope: Envelope, where: str) -> Statement:
    """Return the statement that an envelope carries.

    Args:
        envelope: whose signatures may hold or not.
        where: its name, for errors.

    Raises:
        TrustError: the payload is no statement; or it has a predicate of this engine and does not
            fit it, or is not canonical.
    """
    if envelope.payload_type != PAYLOAD_TYPE:
        kind = envelope.payload_type[:60]
        message = f"{where}: found the payload type {kind!r}, expected {PAYLOAD_TYPE}"
        raise TrustError(message, code="other-payload-type")
    payload = f"{where}: payload"
    value = sound_json(envelope.payload, payload, "bad-statement")
    check_schema("statement-1", value, payload, "bad-statement")
    statement = Statement(
        value["predicateType"],
        value.get("predicate", {}),
        tuple(Subject(subject.get("name", ""), subject["digest"]) for subject in value["subject"]),
    )
    if statement.kind is not None:
        check_schema(
            f"predicate-{statement.kind}-1",
            statement.predicate,
            f"{payload}: predicate",
            "bad-statement",
        )
        if statement.payload != envelope.payload:
            message = f"{payload}: found another spelling, expected its canonical form (RFC 8785)"
            raise TrustError(message, code="not-canonical")
    return statement


def events(  # noqa: PLR0913  # each is a part of what is signed
    *, genesis: str, network: str, validator: str, digests: Iterable[str], file: str, digest: str
) -> Statement:
    """Return the statement of a batch of events of a validator.

    Args:
        genesis: the digest of how the state began.
        network: that of the trust file in force.
        validator: the hotkey of the validator.
        digests: those of the events, in hexadecimal digits or with ``sha256:``.
        file: the name of the file of events.
        digest: of its bytes.

    Raises:
        TrustError: there are none, or more than ``MAX_EVENTS``.
    """
    listed = sorted({text.removeprefix(PREFIX) for text in digests})
    if not 1 <= len(listed) <= MAX_EVENTS:
        message = f"{file}: found {len(listed)} events, expected 1 to {MAX_EVENTS} in a batch"
        raise TrustError(message, code="bad-statement")
    subject = Subject.of(PurePath(file).name, digest)
    return Statement.of(
        EVENTS, subject, genesis=genesis, network=network, validator=validator, events=listed
    )


def statement_of_receipt(path: Path) -> Statement:
    """Return the statement that signs the receipt in a file.

    Args:
        path: a receipt, as ``score``, ``facts`` or ``rules gate`` writes it.

    Raises:
        InputError: the file cannot be read.
        TrustError: it is no receipt.
    """
    where = str(path)
    value = sound_json(read_file(path, MAX_RECEIPT_BYTES, "a receipt"), where, "bad-statement")
    if isinstance(value, dict) and "policy" in value:
        check_schema("gate-receipt-1", value, where, "bad-statement")
        sides = (value["old"], value["new"])
        subjects = [Subject.of(side["reference"], side["digest"]) for side in sides]
        return Statement.of(RECEIPT, *subjects, receipt=value)
    is_of_facts = isinstance(value, dict) and "definitions" in value
    check_schema("facts-receipt-1" if is_of_facts else "receipt-1", value, where, "bad-statement")
    output = path.name.removesuffix(_RECEIPT_SUFFIX)
    subjects = [
        Subject.of(output, value["output_digest"]),
        Subject.of(f"{output}: rejects", value["rejects_digest"]),
    ]
    return Statement.of(RECEIPT, *subjects, receipt=value)
