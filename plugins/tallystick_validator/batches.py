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
one signature to one peer and another to the next. `parse` finds header and lines; `check` judges
the lines once, by their spelling, the rules and the trust file in force, before the bytes are kept.
The rest, such as a miner that is not registered, only the closing can tell, line by line.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
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
from tallystick_validator.admission import objection

if TYPE_CHECKING:
    from tallystick_chain.network import Network
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
        "batch-other-validator": "it is of another validator",
        "batch-other-network": "it is of another network",
        "batch-other-genesis": "it is of a state that began in another way",
        "batch-line": "a line is no record or event by the rules in force, or none of this batch",
        "batch-order": "its lines do not stand in the order of their digests, each once",
        "batch-signature": "its validator has not signed it as the trust file asks",
    }
)
"""Codes of a batch that is not taken, with meanings."""


_Judge = Callable[[bytes], tuple[str, bytes]]


class BatchError(TallystickError):
    """A batch that is not taken.

    Attributes:
        code: one of `CODES`.
    """

    def __init__(self, code: str, found: str) -> None:
        super().__init__(found)
        self.code = code


@attrs.frozen
class Committed:
    """A batch that a validator has committed for an epoch, which names it among all others.

    Attributes:
        epoch: for which it was committed.
        digest: its SHA-256, 64 hexadecimal digits, as the chain has it.
        validator: the hotkey that committed it; whose records they are only the bytes say.
    """

    epoch: int
    digest: str
    validator: str


@attrs.frozen
class Batch:
    """The records that a validator stands for in an epoch.

    Attributes:
        validator: the hotkey of the validator whose records they are.
        lines: records and late events, each one line of JSON without its end, in their order.
        envelope: the signed statement over their digests, for a state with a trust file; None
            where the chain's commitment alone stands behind the batch.
        header: of what its bytes say it is, by the names of `header_of`; of a validator alone
            nothing.
    """

    validator: str
    lines: tuple[bytes, ...] = attrs.field(repr=False)
    envelope: Envelope | None = attrs.field(default=None, repr=False)
    header: Mapping[str, object] = attrs.field(factory=dict)


def header_of(epoch: int, validator: str, network: Network, state: StoredState) -> dict[str, Any]:
    """Return the header of a batch, without an envelope."""
    return {
        "epoch": epoch,
        "format": FORMAT,
        "genesis": state.in_force.genesis,
        "network": network.name,
        "validator": validator,
    }


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    """The first line of a batch."""

    epoch: int
    format: int
    genesis: str
    network: str
    validator: str
    envelope: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


_HEADER = msgspec.json.Decoder(_Header)
_SIGNED = "envelope"


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
    """Return the batch that some bytes are, whose lines are not looked at.

    Args:
        data: the bytes.
        expected: their digest, as the chain has it.

    Raises:
        BatchError: they are another's, too many, or no header and lines behind it.
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
    own = {name: value for name, value in msgspec.structs.asdict(header).items() if name != _SIGNED}
    return Batch(header.validator, tuple(lines), envelope, own)


def check(batch: Batch, committed: Committed, network: Network, state: StoredState) -> None:
    """Refuse a batch that its validator cannot have committed for an epoch of a network.

    Args:
        batch: as `parse` gave it.
        committed: for which epoch, and by whom.
        network: the network file.
        state: whose rules and trust file are asked.

    Raises:
        BatchError: the first thing that is wrong with it.
    """
    epoch, validator = committed.epoch, committed.validator
    for name, expected in header_of(epoch, validator, network, state).items():
        if batch.header[name] != expected:
            shown = visible(str(batch.header[name]))[:100]
            found = f"found the {name} {shown!r}, expected {expected!r}"
            raise BatchError(f"batch-other-{name}", found)
    digests = _digests(batch.lines, _judge_of(epoch, validator, network, state))
    in_force = state.in_force
    if in_force.root is None:
        if batch.envelope is not None:
            found = "found a signature, expected none: the state has no trust file"
            raise BatchError("batch-signature", found)
        return
    try:
        authority = Authority(batch.envelope, network.vote_block(epoch))
        signed = batch_of(in_force.root, in_force.genesis, authority)
    except TrustError as error:
        raise BatchError("batch-signature", str(error)) from error
    if signed.validator != validator or signed.events != frozenset(digests):
        found = "found a statement about other events, expected those of the lines, all of them"
        raise BatchError("batch-signature", found)


@attrs.frozen
class Built:
    """A batch of this validator's own.

    Attributes:
        data: its bytes; empty where no line can be in it.
        left_out: lines that it cannot have, each as it was given, with the reason.
    """

    data: bytes = attrs.field(repr=False)
    left_out: tuple[tuple[bytes, str], ...]


def build(  # noqa: PLR0913, PLR0917  # what a batch says
    lines: Iterable[bytes],
    epoch: int,
    validator: str,
    network: Network,
    state: StoredState,
    signer: Signer | None,
) -> Built:
    """Return the batch of this validator's own records and late events.

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
    judge = _judge_of(epoch, validator, network, state)
    for line in lines:
        try:
            digest, text = judge(line)
        except BatchError as error:
            left_out.append((line, str(error)))
        else:
            sound.setdefault(digest, text)
    size = count = 0
    for name in sorted(sound):
        size, count = size + len(sound[name]) + 1, count + 1
        if count > MAX_LINES or size > MAX_LINES_BYTES:
            left_out.append((sound.pop(name), CODES["batch-too-large"]))
    if not sound:
        return Built(b"", tuple(left_out))
    body = b"".join(sound[name] + b"\n" for name in sorted(sound))
    header, root = header_of(epoch, validator, network, state), state.in_force.root
    if root is not None:
        if signer is None:
            found = "found no key to sign the batch with, expected one: the state has a trust file"
            raise TrustError(f"{found}, so name the key of {validator}", code="unsigned")
        about = statement.events(
            genesis=state.in_force.genesis,
            network=root.network,
            validator=validator,
            digests=sound,
            file=f"epoch-{epoch}.jsonl",
            digest=digest_of(body),
        )
        header[_SIGNED] = json_value(about.envelope().signed(signer))
    return Built(canonical_bytes(header) + b"\n" + body, tuple(left_out))


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
        signed = header.envelope
        is_signed = signed is not msgspec.UNSET
        envelope = Envelope.of_value(signed, "the envelope") if is_signed else None
    except (msgspec.MsgspecError, TrustError, UnicodeError, RecursionError) as error:
        raise BatchError("batch-form", f"found no header ({error}), expected one") from error
    # of two spellings of one signature there would be two batches
    if envelope is not None and json_value(envelope) != signed:
        raise BatchError("batch-form", "found another spelling of the envelope")
    if canonical_line(line) != line or header.format != FORMAT or header.epoch < 0:
        found = f"found a header of another form, expected RFC 8785 and the format {FORMAT}"
        raise BatchError("batch-form", found)
    return header, envelope


def _digests(lines: Iterable[bytes], judge: _Judge) -> list[str]:
    """Return the digests of the lines of a batch, which ascend.

    Raises:
        BatchError: a line cannot be of that batch, has another spelling, or stands elsewhere.
    """
    digests = list[str]()
    # the header is line 1
    for number, line in enumerate(lines, 2):
        try:
            digest, text = judge(line)
        except BatchError as error:
            raise BatchError(error.code, f"line {number}: {error}") from error
        if text != line:
            found = f"line {number}: found another spelling, expected RFC 8785"
            raise BatchError("batch-form", found)
        digests.append(digest)
    if any(later <= before for before, later in pairwise(digests)):
        found = "found lines in another order, expected ascending digests, each once"
        raise BatchError("batch-order", found)
    return digests


def _judge_of(epoch: int, validator: str, network: Network, state: StoredState) -> _Judge:
    """Return the function that gives digest and canonical form of a line of a batch.

    It raises a `BatchError` of a line that is no record or event, or cannot be of that batch. A
    score is no part of a digest, so that no snapshot of an epoch is needed.
    """
    decoder = EventDecoder(state.scorer)

    def judged(line: bytes) -> tuple[str, bytes]:
        text = canonical_line(line)
        event = decoder.unscored(text, 1)
        if isinstance(event, Reject):
            path = visible(event.path)[:100]
            raise BatchError("batch-line", f"found {event.code} {path}".rstrip())
        problem = objection(event, validator, network, epoch)
        if problem is not None:
            raise BatchError("batch-line", visible(str(problem))[:200])
        return event.claim_digest, text

    return judged
