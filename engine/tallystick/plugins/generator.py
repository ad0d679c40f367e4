"""Generators: how realistic records of a skill type are made up, part by part.

The engine says who, when and in which role; the generator says what was asked, answered and
verified. A task is asked once, of several miners; an answer is verified by several validators.

Every choice comes from a ``Draw``: a seeded source that is the same on every machine and under
every version of Python. It rests on one thing alone: that ``random.Random(n).random()`` gives the
same doubles for the same whole number, which Python promises. Everything else is whole numbers, and
one division where a decimal is made.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, TypeVar

import attrs
import msgspec

from tallystick.plugins.entries import code_of_strangers
from tallystick.plugins.values import is_function

_Item = TypeVar("_Item")

CERTAIN = 100
"""The chance that is certain, and the highest skill: both are counted in hundredths."""

_BITS = 53
_EXACT = 1 << _BITS


class Draw:
    """Choices that follow from a seed; each call takes the next one.

    Attributes:
        skill: how well the miner at hand does, a whole number from 0 to 100; the engine sets it.
    """

    __slots__ = ("_next", "skill")

    def __init__(self, seed: int) -> None:
        self.skill = CERTAIN // 2
        self._next: Callable[[], float] = Random(seed).random  # noqa: S311  # no secret

    @classmethod
    def of(cls, *parts: str | int) -> Draw:
        """Return the source that some texts and numbers name; others name others."""
        name = hashlib.sha256(json.dumps(parts).encode())
        return cls(int.from_bytes(name.digest()[:8], "big"))

    def whole(self, low: int, high: int) -> int:
        """Return a whole number from ``low`` to ``high``, each as likely."""
        span = high - low + 1
        # below 2^53 the product, rounded, never reaches the span
        return low + (int(self._next() * span) if span <= _EXACT else self._bits(span) % span)

    def chance(self, times: int, of: int = CERTAIN) -> bool:
        """True in so many of 100 calls, or of another number of calls."""
        return int(self._next() * of) < times

    def skilled(self) -> bool:
        """True as often as the miner at hand does well."""
        return int(self._next() * CERTAIN) < self.skill

    def one(self, options: Sequence[_Item]) -> _Item:
        """Return one of the options, each as likely."""
        return options[int(self._next() * len(options))]

    def some(self, options: Sequence[_Item], count: int) -> list[_Item]:
        """Return ``count`` different options in any order; all of them where there are no more."""
        last, chosen, moved = len(options) - 1, list[_Item](), dict[int, int]()
        for index in range(min(count, len(options))):
            other = self.whole(index, last)
            chosen.append(options[moved.get(other, other)])
            moved[other] = moved.get(index, index)
        return chosen

    def kept(self, items: Sequence[_Item], times: int) -> list[_Item]:
        """Return each of the items in so many of 100 cases, in their order."""
        return [item for item in items if self.chance(times)]

    def decimal(self, low: float, high: float, places: int = 2) -> float:
        """Return a number from ``low`` to ``high`` with so many decimals."""
        scale: int = 10**places
        return self.whole(round(low * scale), round(high * scale)) / scale

    def near(
        self, value: float, most: float, low: float = 0, high: float = 1, places: int = 2
    ) -> float:
        """A number within ``most`` of a value, from ``low`` to ``high``, with so many decimals."""
        scale: int = 10**places
        reach = round(most * scale)
        number = round(value * scale) + self.whole(-reach, reach)
        return min(max(number, round(low * scale)), round(high * scale)) / scale

    def hexadecimal(self, digits: int) -> str:
        """Return a text of ``count`` hexadecimal digits."""
        return f"{self._bits(1 << 4 * digits):0{digits}x}"[-digits:]

    def _bits(self, span: int) -> int:
        """Return a whole number of more bits than the span."""
        number, bits = 0, 0
        while bits <= span.bit_length():
            number, bits = number << _BITS | int(self._next() * _EXACT), bits + _BITS
        return number


Part = Mapping[str, Any]
"""The JSON value of one part of a record."""


_MADE: Mapping[str, Any] = {
    "task": Any,
    "submission": Any,
    "checks": Any,
    "events": Sequence[str],
    "fields": Mapping[str, Any],
}
"""The functions of a generator, with the types of what they make."""


def _nothing(_draw: Draw, _checks: Part) -> Sequence[str]:
    return ()


def _no_fields(_draw: Draw, _task: Part) -> Part:
    return {}


@attrs.frozen(eq=False)
class Generator:
    """Functions that make up the parts of a record, valid under the schema and the requirements.

    Every function takes all of its choices from its ``Draw``. ``draw.skill`` is that of the miner;
    a task is asked of all. A function gives a new value, or one that nobody changes.

    Attributes:
        task: the ``task``.
        submission: the ``submission`` of a miner to a task.
        checks: the ``checks`` of one validator, from the task and the submission.
        events: the ``events`` that go with some checks, but a missed deadline; by default none.
        fields: what a record has at its top beside the fields of every record, such as the group
            that an allocation asks for; once a task, by default nothing.
    """

    task: Callable[[Draw], Part] = attrs.field(validator=is_function)
    submission: Callable[[Draw, Part], Part] = attrs.field(validator=is_function)
    checks: Callable[[Draw, Part, Part], Part] = attrs.field(validator=is_function)
    events: Callable[[Draw, Part], Sequence[str]] = attrs.field(
        default=_nothing, validator=is_function
    )
    fields: Callable[[Draw, Part], Part] = attrs.field(default=_no_fields, validator=is_function)

    def of(self, skill_type: str) -> Generator:
        """Return the generator as it is called: where it fails, its skill type is named.

        Each function raises `RefusedPluginError` where it raises anything, or makes what is no
        JSON value, no mapping of fields or no list of events. What it prints goes to the error
        output.
        """

        def called(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
            def call(*given: object) -> object:
                what = f"{name} of the generator of the skill type {skill_type!r}"
                with code_of_strangers(what, "generator-failed"):
                    made: object = function(*given)
                    msgspec.convert(made, _MADE[name])
                    msgspec.json.encode(made)
                return made

            return call

        functions = {name: called(name, getattr(self, name)) for name in _MADE}
        return Generator(**functions)
