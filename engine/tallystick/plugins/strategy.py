"""Strategies: ways to answer other than honestly, by which a rule set is tried.

A strategy turns the record of an honest answer into that of another answer to the same task. It is
data for simulations alone: no score depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import attrs

from tallystick.plugins.generator import Draw
from tallystick.plugins.values import is_function, of_type, tuple_of

Answer = Callable[[Draw, Mapping[str, Any]], Mapping[str, Any] | None]
"""Makes a record of an honest one and of choices; None where it does not answer."""


@attrs.frozen(eq=False)
class Strategy:
    """A way to answer the tasks of some skill types.

    Attributes:
        name: ``namespace/name``.
        summary: one sentence for people.
        skill_types: the names of the types whose records it can be given.
        answer: the record from an honest one, which it leaves as it is. Submission and checks may
            differ, nothing else. Where the record is not valid the honest one takes its place.
        cost: of an answer, in units of the work of an honest one.
        is_honest: whether it breaks no rule, so that nobody is caught at it.
    """

    name: str = attrs.field(validator=of_type(str))
    summary: str = attrs.field(validator=of_type(str))
    skill_types: tuple[str, ...] = attrs.field(validator=tuple_of(str))
    answer: Answer = attrs.field(validator=is_function)
    cost: Decimal = attrs.field(default=Decimal(1), validator=of_type(Decimal))
    is_honest: bool = attrs.field(default=False, validator=of_type(bool))
