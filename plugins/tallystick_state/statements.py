"""Statements that a state asks signatures of: what exactly has to be signed, and by whom.

They are what the state compares with when the envelope comes, so that what is signed by them fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

import attrs

from tallystick.errors import RefusedError, StateError, TrustError
from tallystick.io.paths import PathLike, path_of
from tallystick.io.sources import Source
from tallystick.rules.loading import load
from tallystick.scoring.sources import source_of
from tallystick_state.adoption import check_adoption, check_pools, check_withdrawal
from tallystick_state.event_decoder import events_of
from tallystick_state.ledger import Ledger
from tallystick_state.pools import pools_of
from tallystick_state.round_groups import RoundGroups, groups_of
from tallystick_state.rules import StateRules
from tallystick_state.rules_in_force import Adoption
from tallystick_state.trust import statement as statements
from tallystick_state.trust.statement import Statement


def adoption(
    ledger: Ledger,
    reference: PathLike,
    epoch: int,
    *,
    major: bool = False,
    expires_at_block: int | None = None,
) -> Statement:
    """What has to be signed so that a state adopts a rule set.

    Args:
        ledger: the state.
        reference: the rule set.
        epoch: the first under it.
        major: whether it may take away what others name.
        expires_at_block: from this block on it cannot be used any more; None where it can.

    Raises:
        RuleSetError: the rule set does not load.
        StateError: the state would not adopt it, or has no trust file.
    """
    in_force = ledger.in_force
    rules = StateRules.of(load(reference, in_force.plugins))
    check_adoption(in_force, rules, epoch, ledger.open_epoch(), major=major)
    line = rules.line
    adopted = Adoption(
        line=line,
        epoch=epoch,
        block=None,
        rules=rules,
        previous=in_force.lines[line].at(epoch).digest,
        sequence=in_force.sequences.get(line, 0) + 1,
        major=major,
        seq=0,
    )
    found = in_force.statement("adopt", adopted, adopted.sequence)
    return _expiring(found, expires_at_block)


def withdrawal(
    ledger: Ledger, line: str | None = None, *, expires_at_block: int | None = None
) -> Statement:
    """What has to be signed so that a state withdraws the last adoption of a line.

    Args:
        ledger: the state.
        line: which; by default the only one.
        expires_at_block: as in `adoption`.

    Raises:
        StateError: there is none that has not begun, or the state has no trust file.
    """
    in_force = ledger.in_force
    last = check_withdrawal(in_force, line, ledger.open_epoch())
    found = in_force.statement("withdraw", last, in_force.sequences[last.line] + 1)
    return _expiring(found, expires_at_block)


def pools(  # noqa: PLR0913  # what pools are, and from when
    ledger: Ledger,
    shares: Mapping[str, str | Decimal],
    epoch: int,
    *,
    idle: str = "proportional",
    burn: int | None = None,
    expires_at_block: int | None = None,
) -> Statement:
    """What has to be signed so that a state has other pools from an epoch on.

    Args:
        ledger: the state.
        shares: the share of all weight that each line gives out.
        epoch: the first with them.
        idle: where the share of an idle line goes.
        burn: the slot that burns it.
        expires_at_block: as in `adoption`.

    Raises:
        StateError: the state would not take them, or has no trust file.
    """
    in_force = ledger.in_force
    change = in_force.pools.change(pools_of(shares, in_force.lines, idle, burn), epoch)
    check_pools(in_force, change, ledger.open_epoch())
    return _expiring(in_force.pools_statement(change), expires_at_block)


def events(
    ledger: Ledger, source: PathLike, validator: str, groups: PathLike | None = None
) -> Statement:
    """What a validator signs so that others take its records and late events.

    Args:
        ledger: the state of any validator of the network.
        source: a file of the validator's records and events, and of nobody else's.
        validator: its hotkey.
        groups: a file of the groups of the records, whose consensus is signed with them.

    Raises:
        InputError: a file cannot be read.
        RefusedError: lines of it are no records, events or groups, or contradict their group.
        StateError: the state has no trust file.
        TrustError: a line is of another validator, or there are too many.
    """
    path = path_of(source, "a file of records and events")
    in_force = ledger.in_force
    if in_force.root is None:
        raise _no_root()
    read, joined = source_of(path), None
    if groups is not None:
        with ledger.store.reading() as transaction:
            joined = groups_of(groups, ledger.scorer, transaction)
    digests = list(_digests(ledger, read, str(path), validator, joined))
    return statements.events(
        genesis=in_force.genesis,
        network=in_force.root.network,
        validator=validator,
        digests=digests,
        file=path.name,
        # complete now that all is read
        digest=read.digest,
    )


def _digests(
    ledger: Ledger, source: Source, name: str, validator: str, groups: RoundGroups | None
) -> Iterator[str]:
    """What stands for each event of a source.

    A score is no part of it, so the snapshots of epochs are not asked for.
    """
    for batch in events_of(source, ledger.scorer, groups):
        if batch.rejects:
            raise RefusedError(name, batch.rejects)
        for line, event in batch.events:
            if event.validator != validator:
                message = f"{name}:{line}: found an event of {event.validator!r}, expected those of"
                raise TrustError(f"{message} {validator!r} alone", code="other-validator")
            yield event.claim_digest


def _expiring(statement: Statement | None, block: int | None) -> Statement:
    """A statement that cannot be used any more from a block on, if one is given."""
    if statement is None:
        raise _no_root()
    if block is None:
        return statement
    return attrs.evolve(statement, predicate={**statement.predicate, "expires_at_block": block})


def _no_root() -> StateError:
    message = (
        "found a state without a trust file, expected one, as nothing else asks for signatures: "
        "give it one with tallystick trust rotate"
    )
    return StateError(message, code="no-root")
