"""Authority: what stands behind a change that not everyone may make.

A state without a trust file is its operator's: nothing of it is signed. In a state with one, what
the operator alone must not decide is signed as the file says, whichever way it comes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.canonical import canonical_bytes
from tallystick.errors import DamagedError, TrustError

if TYPE_CHECKING:
    from tallystick_state.trust.envelope import Envelope


@attrs.frozen
class Authority:
    """What stands behind an adoption, a withdrawal, a batch of events, or a trust file.

    Attributes:
        envelope: the signed statement; None where the operator decides alone.
        block: the block that the caller states; None where it states none.
    """

    envelope: Envelope | None = None
    block: int | None = None

    @property
    def statement(self) -> str | None:
        """The digest of the signed statement: what an entry of the log names."""
        return None if self.envelope is None else self.envelope.statement_digest

    def signed(self, what: str) -> Envelope:
        """The envelope, where there must be one.

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


OPERATOR = Authority()
"""The operator of the state, who signs nothing."""
Envelopes = Callable[[str], "Envelope | None"]
"""Finds the envelope of a statement by its digest."""


def no_envelopes(_: str) -> None:
    """Of a log of which nothing is signed."""


def authority_of(body: Mapping[str, Any], envelopes: Envelopes) -> Authority:
    """What stands behind an entry of a log.

    Args:
        body: of the entry, which may name a statement and state a block.
        envelopes: those of the log.

    Raises:
        DamagedError: the envelope that it names is missing, or another one.
    """
    statement, block = body.get("statement"), body.get("block")
    if statement is None:
        return Authority(None, block)
    envelope = envelopes(statement)
    if envelope is None or envelope.statement_digest != statement:
        found = "no envelope" if envelope is None else f"that of {envelope.statement_digest}"
        raise DamagedError(
            f"found {found}, expected the one of {statement:.80}, which an entry names: restore a "
            "copy"
        )
    return Authority(envelope, block)


def stored_envelope(text: str, where: str) -> Envelope:
    """The envelope in a text that a store or an export has.

    Raises:
        DamagedError: it is none, or not as it was written.
    """
    from tallystick_state.trust.envelope import Envelope  # where something is signed

    try:
        found = Envelope.of_json(text.encode("utf-8", "surrogatepass"), where)
    except TrustError as error:
        raise DamagedError(f"{error}: the envelope was changed, restore a copy") from error
    if envelope_text(found) != text:
        message = f"{where}: found an envelope in another spelling, expected RFC 8785"
        raise DamagedError(f"{message}: it was changed, restore a copy")
    return found


def stored_envelopes(kept: Callable[[str], str | None], where: str) -> Envelopes:
    """The envelopes of a store.

    Args:
        kept: gives the text of one, by the digest of its statement.
        where: the store, for errors.
    """

    def envelopes(statement: str) -> Envelope | None:
        text = kept(statement)
        return None if text is None else stored_envelope(text, f"{where}: {statement}")

    return envelopes


def envelope_text(envelope: Envelope) -> str:
    """The envelope as a store and an export keep it: RFC 8785."""
    return canonical_bytes(envelope.to_value()).decode()
