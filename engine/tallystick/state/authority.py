"""Authority: what stands behind a change that not everyone may make."""

from __future__ import annotations

import attrs


@attrs.frozen
class Authority:
    """What stands behind an adoption, a withdrawal, a batch of events, or a new trust root.

    Attributes:
        envelope: the signed statement; None where the operator decides alone.
        block: the block that the caller states; None where it states none.
    """

    envelope: object | None = None
    block: int | None = None


OPERATOR = Authority()
"""The operator of the state, who signs nothing."""
