"""Pools: the share of all weight that each line of a state gives out.

A state of several lines may say so as it begins; from then on its weights are one vector, the mean
of those that its lines publish. A line in which nobody has a weight is idle, and its share goes
where the pools say.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any, Literal, get_args

import attrs

from tallystick.canonical import digest
from tallystick.errors import StateError
from tallystick.json_values import JsonKey, json_object, json_value
from tallystick.records.messages import shown
from tallystick.rules.edit import read_number
from tallystick.rules.toml import decimal_text
from tallystick_allocation.recipients import EXPECTED, is_recipient, key_of

Idle = Literal["equal", "proportional", "burn"]
"""Receiver of the share of an idle line: the others in equal parts, or in proportion to their
shares, or a recipient that burns it.
"""
IDLE: tuple[Idle, ...] = get_args(Idle)


@json_object(
    "idle",
    # in the spelling of the file, not of nine places
    JsonKey("shares", form=lambda shares: {line: str(share) for line, share in shares.items()}),
    JsonKey("burn", left_out="none"),
)
@attrs.frozen
class Pools:
    """The shares of a state's weight, by line.

    Attributes:
        shares: of each line, in the order of names; they sum to 1.
        idle: where the share of an idle line goes.
        burn: the recipient that burns it, which need be no miner; None unless ``idle`` is ``burn``.
    """

    shares: Mapping[str, Decimal]
    idle: Idle = "proportional"
    burn: str | int | None = None

    @property
    def digest(self) -> str:
        """The digest of what they say."""
        return digest(json_value(self))


def pools_of(
    shares: Mapping[str, str | Decimal],
    lines: Collection[str],
    idle: str = "proportional",
    burn: str | int | None = None,
) -> Pools:
    """Return the pools of the lines of a state.

    Args:
        shares: by line, more than 0, with up to nine places.
        lines: those of the state; each has one.
        idle: where the share of an idle line goes.
        burn: the recipient that burns it: a hotkey, ``owner``, or a slot; see `recipients`.

    Raises:
        StateError: the shares are not those of the lines, or do not sum to 1; or nothing says, or
            two things say, where an idle share goes. Its ``code`` is ``bad-pools``.
    """
    parts = {line: _share(line, shares[line]) for line in sorted(shares)}
    if [*parts] != sorted(lines):
        raise _bad(f"pools of {', '.join(map(shown, parts)) or 'no line'}", _of_each(lines))
    if len(parts) < 2:  # one line has all weight
        raise _bad("pools of one line", "none, as they share the weight of several lines")
    total = sum(parts.values())
    if total != 1:
        raise _bad(f"shares that sum to {total}", "shares of pools that sum to 1")
    kind = next((name for name in IDLE if name == idle), None)
    if kind is None:
        raise _bad(f"the word {shown(idle)} for idle lines", f"one of {', '.join(IDLE)}")
    if (kind == "burn") != (burn is not None):
        what = "nobody who burns" if burn is None else f"{shown(burn)} beside {kind}"
        raise _bad(what, f"who burns the share of idle lines, and only there: {EXPECTED}")
    if burn is not None and not is_recipient(key_of(burn)):
        raise _bad(shown(burn), EXPECTED)
    return Pools(parts, kind, burn)


def read_pools(body: Any, lines: Collection[str]) -> Pools | None:  # noqa: ANN401  # whoever forged it
    """Return the pools that an entry of the log says; None where it says none.

    Raises:
        StateError: as `pools_of`.
        TypeError: it says something else.
    """
    if body is None:
        return None
    shares, idle, burn = body["shares"], body["idle"], body.get("burn")
    texts = all(isinstance(text, str) for text in (*shares, *shares.values(), idle))
    if not texts or type(burn) not in {int, str, type(None)}:
        raise TypeError(body)
    pools = pools_of(shares, lines, idle, burn)
    if json_value(pools) != body:
        raise TypeError(body)
    return pools


def _share(line: str, share: str | Decimal) -> Decimal:
    number = read_number(str(share))
    if number is None or number <= 0:
        raise _bad(
            f"the share {shown(str(share))} of {shown(line)}",
            "a decimal above 0 with up to nine places, such as 0.7",
        )
    # one spelling of one share, as the digest covers the text
    return Decimal(decimal_text(number))


def _of_each(lines: Collection[str]) -> str:
    return f"one for each line of the state: {', '.join(sorted(lines))}"


def _bad(found: str, expected: str) -> StateError:
    return StateError(f"found {found}, expected {expected}", code="bad-pools")
