"""A finding: one thing that keeps others from trusting a plugin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs


@attrs.frozen
class Finding:
    """One thing that is wrong with a plugin.

    Attributes:
        code: the stable name of what is wrong, such as ``axis-out-of-range``.
        where: the place: a formula, a skill type, a file with a line, a path in a schema.
        message: what was found and what was expected, in lower case.
        remedy: what to do.
        evidence: what shows it, such as the ``record`` of a counterexample, as JSON.
    """

    code: str
    where: str
    message: str
    remedy: str
    evidence: Mapping[str, Any] = attrs.field(factory=dict)
