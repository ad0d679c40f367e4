"""Authority: what stands behind a change that not everyone may make.

A state without a trust root is its operator's: nothing of it is signed. In a state with one, what
the operator alone must not decide is signed as the root says, whichever way it comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from tallystick.errors import TrustError

if TYPE_CHECKING:
    from tallystick.trust.envelope import Envelope
    from tallystick.trust.policy import Action, TrustRoot
    from tallystick.trust.statement import Statement


@attrs.frozen
class Authority:
    """What stands behind an adoption, a withdrawal, a batch of events, or a new trust root.

    Attributes:
        envelope: the signed statement; None where the operator decides alone.
        block: the block that the caller states; None where it states none.
    """

    envelope: Envelope | None = None
    block: int | None = None

    def signed(self, what: str) -> Envelope:
        """The envelope, where there must be one.

        Args:
            what: what it has to be of, for the error.

        Raises:
            TrustError: there is none.
        """
        if self.envelope is None:
            raise TrustError(
                f"found no signature of {what}, expected one, as this state has a trust root: sign "
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
                f"found a signature of {what}, expected none, as this state has no trust root: "
                "give it one with tallystick trust rotate",
                code="no-root",
            )


OPERATOR = Authority()
"""The operator of the state, who signs nothing."""


def authorised(
    root: TrustRoot | None, action: Action, statement: Statement, authority: Authority
) -> str | None:
    """Allow an adoption or a withdrawal; gives the digest of what was signed, for its entry.

    Args:
        root: the trust root in force; None where the operator decides alone.
        action: ``adopt`` or ``withdraw``.
        statement: what must have been signed.
        authority: what was signed.

    Raises:
        TrustError: the root does not allow it, or there is none and something is signed.
    """
    if root is None:
        authority.check_unsigned("rules")
        return None
    from tallystick.trust.policy import authorise  # noqa: PLC0415  # where something is signed

    envelope = authority.signed("rules")
    authorise(root, action, statement, envelope, authority.block)
    return envelope.statement_digest
