"""Health: what is wrong with the daemon now, and what to do, as one answer.

A `Problem` has a code with a remedy; the worst of all problems is the status: ``ok``, ``degraded``
(it goes on, somebody should look), ``failing`` (no epoch is closed, or no row set, until somebody
acts).
"""

from __future__ import annotations

import attrs


@attrs.frozen
class Problem:
    """One thing that is wrong.

    Attributes:
        code: one of `CODES`.
        message: what was found, and what was expected.
        remedy: what to do.
        failing: whether the daemon cannot do its work until somebody acts.
    """

    code: str
    message: str
    remedy: str
    failing: bool = False
