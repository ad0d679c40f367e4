"""Options that the commands on a state share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import attrs
import click

from tallystick.cli.locked import HeldLock
from tallystick.cli.plugin_options import named_rules, on_command_line
from tallystick.cli.settings import Setting

if TYPE_CHECKING:
    from tallystick.cli.locked import Held
    from tallystick.scoring.scorer import Scorer
    from tallystick_state.authority import Authority
    from tallystick_state.ledger import Ledger

_Result = TypeVar("_Result")

groups_option = click.option(
    "--groups",
    type=click.Path(path_type=Path),
    help="The groups of the records, which compute their consensus.",
)
"""The option that names the groups of records."""


state_option = click.option(
    "--state",
    "where",
    cls=Setting,
    key="state",
    required=True,
    metavar="STATE",
    help="A file, for SQLite, or a URL such as postgresql://host/name.",
)
"""The option that names a store."""


_LAST_NUMBER = 2**31 - 1
_UID_DIGITS = 5
number_type = click.IntRange(0, _LAST_NUMBER)
"""The number of a round or an epoch, as in a record."""


# what is adopted can begin with any epoch but the first
at_epoch_option = click.option(
    "--at-epoch",
    "epoch",
    type=click.IntRange(1, _LAST_NUMBER),
    required=True,
    metavar="N",
    help="The first epoch of what is adopted; it must not have begun.",
)
"""The option that says from when something is adopted."""
major_option = click.option(
    "--major", is_flag=True, help="Allow RULES to take away what others name."
)
"""The option that allows a major change."""


def _time(value: str) -> datetime:
    """A time as ISO 8601; without an offset it is UTC."""
    try:
        found = datetime.fromisoformat(value)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        message = f"found {value!r}, expected a time such as 2026-01-31T12:00:00Z"
        raise click.BadParameter(message) from None


at_option = click.option(
    "--at", type=_time, metavar="TIME", help="When, as ISO 8601; UTC without an offset."
)
"""The option that says when something happens: no command reads a clock."""


as_option = click.option(
    "--as", "viewer", metavar="HOTKEY", help="As this miner may see it, not as the operator does."
)
"""The option that shows a state to a miner."""


def authority_options(command: Callable[..., _Result]) -> Callable[..., _Result]:
    """Give a command the options that say what stands behind a change."""
    return _signed_option(_block_option(command))


def pools_options(command: Callable[..., _Result]) -> Callable[..., _Result]:
    """Give a command the options that say how lines share the weight of a state."""
    return _pool_option(_idle_option(command))


_pool_option = click.option(
    "--pool",
    "shares",
    multiple=True,
    metavar="LINE=SHARE",
    help="Of several lines, the share of all weight that one gives out, such as skills=0.7; "
    "repeat for each.",
)
_idle_option = click.option(
    "--idle",
    metavar="WHERE",
    help="Where the share of a line goes in which nobody has a weight: proportional (the "
    "default) or equal to the others, or burn:UID.",
)


@attrs.frozen
class GivenPools:
    """Pools, as options say them.

    Attributes:
        shares: by line, as text; empty where none are given.
        idle: where an idle share goes.
        burn: the slot that burns it.
    """

    shares: Mapping[str, str]
    idle: str = "proportional"
    burn: int | None = None


def given_pools(shares: Sequence[str], idle: str | None) -> GivenPools:
    """The pools that the options say.

    Raises:
        UsageError: one of them has another form, or a line comes twice.
    """
    found: dict[str, str] = {}
    for each in shares:
        line, sign, share = each.partition("=")
        if not sign or not line or line in found:
            message = f"found {each!r}, expected LINE=SHARE, such as skills=0.7, each line once"
            raise click.BadParameter(message, param_hint="--pool")
        found[line] = share
    if idle is not None and not found:
        raise click.UsageError("--idle goes with --pool")
    where, _, slot = (idle or "proportional").partition(":")
    if slot and not (slot.isascii() and slot.isdigit() and len(slot) <= _UID_DIGITS):
        message = f"found {idle!r}, expected burn and a slot, such as burn:0"
        raise click.BadParameter(message, param_hint="--idle")
    return GivenPools(found, where, int(slot) if slot else None)


_signed_option = click.option(
    "--signed",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The envelope that allows it; a state with a trust file asks for one.",
)
_block_option = click.option(
    "--block",
    type=click.IntRange(0, 2**53 - 1),
    metavar="B",
    help="The block at which it is done; what is signed may expire by blocks.",
)


def authority_of(signed: Path | None, block: int | None) -> Authority:
    """What stands behind a change, as the options say.

    Raises:
        InputError: the envelope cannot be read.
        TrustError: it is none.
    """
    from tallystick_state.authority import Authority

    if signed is None:
        return Authority(block=block)
    from tallystick_state.trust.encoding import read_file  # where one is given
    from tallystick_state.trust.envelope import MOST_BYTES, Envelope

    data = read_file(signed, MOST_BYTES, "an envelope")
    return Authority(Envelope.of_json(data, str(signed)), block)


trust_option = click.option(
    "--trust",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The trust file that the state begins with.",
)
"""The option that names the first trust file of a state."""


snapshots_option = click.option(
    "--state",
    "where",
    metavar="STATE",
    help="Score each record by the rules and thresholds of the epoch that it names.",
)
"""The option that scores records by the rules and the snapshots of a state."""


scoring_rules_option = click.option(
    "--rules",
    "reference",
    cls=Setting,
    key="rules",
    metavar="RULES",
    help="name@version, a path or a digest; pin one with @sha256:…. By default those of --state.",
)
"""The option that names a rule set where a state may say which."""


@contextmanager
def opened(where: str, held: Held) -> Iterator[Ledger]:
    """A state whose rules in force are those of a lock, if the command is held to one.

    Raises:
        StoreError: there is no state.
        TrustError: the lock has none of its rules.
    """
    from tallystick_state.ledger import Ledger

    held.require_code_of_states()
    with Ledger.open(where) as ledger:
        _require_rules(ledger, held)
        yield ledger


def _require_rules(ledger: Ledger, held: Held) -> None:
    """Refuse a state unless a lock has the rules of each of its lines in the open epoch.

    Raises:
        TrustError: the lock has none that mean the same.
    """
    if isinstance(held, HeldLock):
        with ledger.queries() as queries:
            for rules in queries.in_force.at(queries.state.epoch).lines:
                held.require(rules)


@contextmanager
def scoring(reference: str | None, where: str | None, held: Held) -> Iterator[Scorer]:
    """What scores by a rule set, or by the rules and the snapshots of a state if one is given.

    A rule set that is named beside a state has to be one that the state follows; one that only the
    settings name is for what is scored without a state.

    Raises:
        RuleSetError: a rule set does not load.
        StateError: the state never follows the rule set.
        TrustError: the lock has none of the rules.
    """
    if where is None:
        source = named_rules(reference, held)
    else:
        source = scoring_by_state(where, on_command_line(reference), held)
    with source as scorer:
        yield scorer


@contextmanager
def scoring_by_state(where: str, named: str | None, held: Held) -> Iterator[Scorer]:
    """Open a scorer by the rules and the snapshots of a state, for commands of the core.

    Raises:
        RuleSetError: the rule set that is named does not load.
        StateError: the state never follows it.
        TrustError: the lock has none of the rules.
    """
    from tallystick.scoring.scorer import load

    with opened(where, held) as ledger:
        given = None if named is None else load(named)
        if given is not None:
            held.require(given)
        with ledger.scoring(given) as found:
            yield found
