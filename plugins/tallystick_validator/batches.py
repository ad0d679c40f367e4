"""Batches: the records that a validator stands for in an epoch, as bytes that never change.

A batch is a file of lines, named by the SHA-256 of its bytes, which its validator publishes on the
chain. The first line is a header, RFC 8785::

    {"envelope":…,"epoch":7,"format":1,"genesis":"sha256:…","network":"demo","validator":"5F…"}

The others are records and late events of that validator, RFC 8785, in the order of their digests
(`StateEvent.claim_digest`), each digest once. ``envelope`` is the statement of ``tallystick sign
events`` about exactly these digests, signed as a trust file asks; a state without a trust file asks
nobody for signatures, so the header has none, and the commitment on the chain, which the hotkey
signed, stands behind the bytes.

Because everything stands in one file, who has the bytes of a hash has all of it: nobody can give
one signature to one peer and another to the next. `parse` looks at bytes alone; `check` also asks
the rules and the trust file in force. The rest, such as a miner that is not registered, only the
closing can tell, line by line.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import attrs
import msgspec

from tallystick.canonical import CanonicalError, canonical_bytes, canonical_doubles
from tallystick.errors import TallystickError, TrustError
from tallystick.io.text import visible
from tallystick.json_values import json_value
from tallystick.records.rejects import Reject
from tallystick_state.authority import Authority, batch_of
from tallystick_state.event_decoder import EventDecoder
from tallystick_state.trust import statement
from tallystick_state.trust.envelope import MAX_ENVELOPE_BYTES, Envelope
from tallystick_validator.closing import CODES as CLOSING
from tallystick_validator.closing import OTHER_VALIDATOR, objection

if TYPE_CHECKING:
    from tallystick_chain.network import Network
    from tallystick_state.rules_in_force import RulesInForce
    from tallystick_state.stored_state import StoredState
    from tallystick_state.trust.keys import Signer

FORMAT = 1
"""Version of batches."""
MAX_LINES = statement.MAX_EVENTS
"""Maximum number of records and events of a batch."""
MAX_LINES_BYTES = 32 * 1024 * 1024
"""Maximum size of the lines of a batch with their ends, in bytes."""
_MAX_HEADER_BYTES = MAX_ENVELOPE_BYTES + 4096
MAX_BATCH_BYTES = MAX_LINES_BYTES + _MAX_HEADER_BYTES
"""Maximum size of a batch, in bytes."""
CODES: Mapping[str, str] = MappingProxyType(
    {
        "batch-digest": "the bytes are not those of the hash on the chain",
        "batch-too-large": "it has more bytes or lines than a batch may have",
        "batch-form": "it is no batch: a header and canonical lines",
        "batch-other-epoch": "it is of another epoch than its validator committed it for",
        "batch-other-validator": "it, or a line of it, is of another validator",
        "batch-other-network": "it is of another network",
        "batch-other-genesis": "it is of a state that began in another way",
        "batch-line": "a line is no record or event by the rules in force",
        "batch-order": "its lines do not stand in the order of their digests, each once",
        "batch-round": "a record is of a round or an epoch that the batch cannot have",
        "batch-signature": "its validator has not signed it as the trust file asks",
    }
)
"""Codes of a batch that is not taken, with meanings."""


class BatchError(TallystickError):
    """A batch that is not taken.

    Attributes:
        code: one of `CODES`.
    """

    def __init__(self, code: str, found: str) -> None:
        super().__init__(found)
        self.code = code


@attrs.frozen
class Batch:
    """A batch, as its bytes say.

    Attributes:
        digest: SHA-256 of the bytes, 64 hexadecimal digits.
        epoch: of whose closing it is.
        validator: the hotkey of who stands for it.
        network: the name of its network.
        genesis: the digest of how the state began.
        envelope: the signed statement; None where nobody asks for signatures.
        lines: the canonical lines, without their ends.
    """

    digest: str
    epoch: int
    validator: str
    network: str
    genesis: str
    envelope: Envelope | None = attrs.field(repr=False)
    lines: tuple[bytes, ...] = attrs.field(repr=False)


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    """The first line of a batch."""

    epoch: int
    format: int
    genesis: str
    network: str
    validator: str
    envelope: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


_HEADER = msgspec.json.Decoder(_Header)


def digest_of(data: bytes) -> str:
    """Return the digest of a batch: SHA-256, 64 hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def canonical_line(line: bytes) -> bytes:
    """Return the RFC 8785 form of a line of JSON, whose numbers are doubles.

    Raises:
        BatchError: it is no JSON value that has such a form.
    """
    try:
        return canonical_doubles(msgspec.json.decode(line))
    except (msgspec.DecodeError, UnicodeError, CanonicalError, RecursionError) as error:
        raise BatchError("batch-form", f"found a line that is no JSON ({error})") from error


def parse(data: bytes, expected: str) -> Batch:
    """Return the batch that some bytes are; nothing but the bytes is looked at.

    Args:
        data: the bytes.
        expected: their digest, as the chain has it.

    Raises:
        BatchError: they are another's, too many, or no batch in its one spelling.
    """
    if len(data) > MAX_BATCH_BYTES:
        found = f"found {len(data)} bytes, expected at most {MAX_BATCH_BYTES}"
        raise BatchError("batch-too-large", found)
    digest = digest_of(data)
    if digest != expected:
        raise BatchError("batch-digest", f"found bytes of {digest}, expected {expected}")
    first, *lines = data.split(b"\n")
    if not lines or lines.pop() != b"":
        raise BatchError("batch-form", "found no line end at the end, expected whole lines")
    if not lines:
        raise BatchError("batch-form", "found a header alone, expected lines behind it")
    if len(lines) > MAX_LINES or len(data) - len(first) - 1 > MAX_LINES_BYTES:
        found = f"found {len(lines)} lines of {len(data)} bytes, expected at most {MAX_LINES} lines"
        raise BatchError("batch-too-large", f"{found} of {MAX_LINES_BYTES} bytes")
    header, envelope = _header(first)
    for number, line in enumerate(lines, 2):
        if canonical_line(line) != line:
            found = f"line {number}: found another spelling, expected RFC 8785"
            raise BatchError("batch-form", found)
    return Batch(
        digest=digest,
        epoch=header.epoch,
        validator=header.validator,
        network=header.network,
        genesis=header.genesis,
        envelope=envelope,
        lines=tuple(lines),
    )


def check(batch: Batch, epoch: int, validator: str, network: Network, state: StoredState) -> None:
    """Refuse a batch that its validator cannot have committed for an epoch of a network.

    Args:
        batch: as `parse` gave it.
        epoch: for which it was committed.
        validator: the hotkey that committed it.
        network: the network file.
        state: whose rules and trust file are asked.

    Raises:
        BatchError: the first thing that is wrong with it.
    """
    in_force = state.in_force
    _expect("batch-other-epoch", "epoch", batch.epoch, epoch)
    _expect("batch-other-validator", "validator", batch.validator, validator)
    _expect("batch-other-network", "network", batch.network, network.name)
    _expect("batch-other-genesis", "genesis", batch.genesis, in_force.genesis)
    digests = _digests(batch.lines, epoch, validator, network, state)
    if any(later <= digest for digest, later in pairwise(digests)):
        found = "found lines in another order, expected ascending digests, each once"
        raise BatchError("batch-order", found)
    root = in_force.root
    if root is None:
        if batch.envelope is not None:
            found = "found a signature, expected none: the state has no trust file"
            raise BatchError("batch-signature", found)
        return
    try:
        authority = Authority(batch.envelope, network.closing_block(epoch))
        signed = batch_of(root, in_force.genesis, authority)
    except TrustError as error:
        raise BatchError("batch-signature", str(error)) from error
    if signed.validator != validator or signed.events != frozenset(digests):
        found = "found a statement about other events, expected those of the lines, all of them"
        raise BatchError("batch-signature", found)


@attrs.frozen
class Built:
    """A batch of this validator's own.

    Attributes:
        data: its bytes.
        digest: their SHA-256, 64 hexadecimal digits.
        left_out: lines that it cannot have, each as it was given, with the reason.
    """

    data: bytes = attrs.field(repr=False)
    digest: str
    left_out: tuple[tuple[bytes, str], ...]


def build(  # noqa: PLR0913, PLR0917  # what a batch says
    lines: Iterable[bytes],
    epoch: int,
    validator: str,
    network: Network,
    state: StoredState,
    signer: Signer | None,
) -> Built | None:
    """Return the batch of this validator's own records and late events; None where there is none.

    Args:
        lines: of the intake, in any order and spelling.
        epoch: of whose closing it is.
        validator: the hotkey of this validator.
        network: the network file.
        state: whose rules and trust file are asked.
        signer: of the validator's key; needed where the state has a trust file.

    Raises:
        TrustError: the state asks for a signature, and there is no key or it cannot sign.
    """
    left_out, sound = list[tuple[bytes, str]](), dict[str, bytes]()
    decoder = EventDecoder(state.scorer)
    for line in lines:
        try:
            text = canonical_line(line)
            digest = _digest(text, decoder, epoch, validator, network)
        except BatchError as error:
            left_out.append((line, str(error)))
        else:
            sound.setdefault(digest, text)
    size = count = 0
    for digest in sorted(sound):
        size, count = size + len(sound[digest]) + 1, count + 1
        if count > MAX_LINES or size > MAX_LINES_BYTES:
            left_out.append((sound.pop(digest), CODES["batch-too-large"]))
    if not sound:
        return None
    body = b"".join(sound[digest] + b"\n" for digest in sorted(sound))
    header: dict[str, Any] = {
        "epoch": epoch,
        "format": FORMAT,
        "genesis": state.in_force.genesis,
        "network": network.name,
        "validator": validator,
    }
    if state.in_force.root is not None:
        envelope = _signed(sound, epoch, validator, digest_of(body), state.in_force, signer)
        header["envelope"] = json_value(envelope)
    data = canonical_bytes(header) + b"\n" + body
    return Built(data, digest_of(data), tuple(left_out))


def _signed(  # noqa: PLR0913, PLR0917  # what the statement says
    digests: Iterable[str],
    epoch: int,
    validator: str,
    file_digest: str,
    in_force: RulesInForce,
    signer: Signer | None,
) -> Envelope:
    """Return the statement about the lines of a batch, signed.

    Raises:
        TrustError: there is no key, or it cannot sign.
    """
    if signer is None or in_force.root is None:
        message = "found no key to sign the batch with, expected one: the state has a trust file"
        raise TrustError(f"{message}, so name the key of {validator}", code="unsigned")
    about = statement.events(
        genesis=in_force.genesis,
        network=in_force.root.network,
        validator=validator,
        digests=digests,
        file=f"epoch-{epoch}.jsonl",
        digest=file_digest,
    )
    return about.envelope().signed(signer)


def _header(line: bytes) -> tuple[_Header, Envelope | None]:
    """Return the header of a batch, and the envelope in it.

    Raises:
        BatchError: it is none, or not in its one spelling.
    """
    if len(line) > _MAX_HEADER_BYTES:
        found = f"found a header of {len(line)} bytes, expected at most {_MAX_HEADER_BYTES}"
        raise BatchError("batch-too-large", found)
    try:
        header = _HEADER.decode(line)
        envelope = None
        if header.envelope is not msgspec.UNSET:
            envelope = Envelope.of_value(header.envelope, "the envelope")
            # of two spellings of one signature there would be two batches
            if json_value(envelope) != header.envelope:
                raise BatchError("batch-form", "found another spelling of the envelope")
        is_canonical = canonical_bytes(msgspec.json.decode(line)) == line
    except (msgspec.MsgspecError, UnicodeError, CanonicalError, RecursionError) as error:
        raise BatchError("batch-form", f"found no header ({error}), expected one") from error
    except TrustError as error:
        raise BatchError("batch-form", str(error)) from error
    if not is_canonical or header.format != FORMAT or header.epoch < 0:
        found = f"found a header of another form, expected RFC 8785 and the format {FORMAT}"
        raise BatchError("batch-form", found)
    return header, envelope


def _expect(code: str, name: str, found: object, expected: object) -> None:
    if found != expected:
        shown = visible(str(found))[:100]
        raise BatchError(code, f"found the {name} {shown!r}, expected {expected!r}")


def _digests(
    lines: Sequence[bytes], epoch: int, validator: str, network: Network, state: StoredState
) -> list[str]:
    """Return the digests of the lines of a batch.

    Raises:
        BatchError: a line cannot be of that batch.
    """
    decoder, digests = EventDecoder(state.scorer), list[str]()
    # the header is line 1
    for number, line in enumerate(lines, 2):
        try:
            digests.append(_digest(line, decoder, epoch, validator, network))
        except BatchError as error:
            raise BatchError(error.code, f"line {number}: {error}") from error
    return digests


def _digest(
    line: bytes, decoder: EventDecoder, epoch: int, validator: str, network: Network
) -> str:
    """Return the digest of the record or event in a canonical line.

    A score is no part of it, so that no snapshot of an epoch is needed.

    Raises:
        BatchError: it is none, or cannot be of the batch of that validator and epoch.
    """
    event = decoder.unscored(line, 1)
    if isinstance(event, Reject):
        path = visible(event.path)[:100]
        raise BatchError("batch-line", f"found {event.code} {path}".rstrip())
    code = objection(network, validator, epoch, event)
    if code is not None:
        of_validator = code == OTHER_VALIDATOR
        raise BatchError("batch-other-validator" if of_validator else "batch-round", CLOSING[code])
    return event.claim_digest
