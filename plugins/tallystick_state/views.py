"""Views: answers of several parts as JSON objects, for machines.

An answer of one class has its form beside the class (`tallystick.json_values`); here are those that
are put together. The order of keys is part of a view.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tallystick.json_values import JsonObject as View
from tallystick.json_values import json_value

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from decimal import Decimal

    from tallystick_state.answers import (
        ClosedRound,
        EpochInfo,
        Profile,
        StateInfo,
    )
    from tallystick_state.ingest import Ingested
    from tallystick_state.pools import Pools
    from tallystick_state.replay import Verified
    from tallystick_state.rules import EpochRules, StateRules
    from tallystick_state.rules_in_force import RulesInForce
    from tallystick_state.schedule import Decision, Schedule
    from tallystick_state.trust.checkpoint import Checkpoint
    from tallystick_state.trust.keys import Signer
    from tallystick_state.weights import Weights


def of_lines(by_line: Mapping[str, View]) -> View:
    """Return what the only line has, or what each has by line."""
    return {"lines": dict(by_line)} if len(by_line) > 1 else next(iter(by_line.values()))


def listed(name: str, answers: Iterable[Any], reason: str = "", **about: object) -> View:
    """Return a list of answers; where it is empty, with the reason."""
    items = json_value([*answers])
    return {**about, name: items, **({} if items else {"reason": reason})}


def begun(in_force: RulesInForce) -> View:
    """Return a state that was begun."""
    return {**_followed(in_force.at(0)), "epoch": 0, **_beside(in_force, 0)}


def info(where: str, in_force: RulesInForce, summary: StateInfo) -> View:
    """Return a state at a glance; whom it hears, trusts and what waits only where there is any."""
    epoch = summary.epoch
    beside = _beside(in_force, epoch)
    ahead = {"rules_digest": in_force.digest_from(epoch)}
    return {
        "state": where,
        **_followed(in_force.at(epoch)),
        **json_value(summary),
        **beside,
        **ahead,
    }


def _followed(rules: EpochRules) -> View:
    """Return the rule set that a state follows, or that of each of its lines."""
    return of_lines(
        {
            of_line.line: {"rule_set": of_line.rule_set.reference, "digest": of_line.digest}
            for of_line in rules.lines
        }
    )


def _beside(in_force: RulesInForce, epoch: int) -> View:
    """Return what a state has beside its rules, as far as it has any."""
    view: View = json_value(in_force.allowed)
    if (root := in_force.root) is not None:
        trusted = {"trust_version": root.version, "trust_digest": root.digest}
        view |= {"network": root.network, **trusted}
    if (pools := in_force.pools.at(epoch)) is not None:
        view |= {"pools": json_value(pools)}
    if in_force.network is not None:
        view |= {"network": in_force.network}
    if (carry := in_force.carry) is not None:
        counts = {"miners": len(carry.state.miners), "records": carry.records}
        view |= {"carry": {"digest": carry.digest, **counts}}
    return view


def pools_change(change: Decision[Pools | None]) -> View:
    """Return a change of pools."""
    return {
        "epoch": change.epoch,
        "pools": json_value(change.value),
        "previous": change.previous,
        "sequence": change.sequence,
        "digest": None if change.value is None else change.value.digest,
        **_decided(change),
    }


def adoption(adopted: Decision[StateRules], in_force: RulesInForce) -> View:
    """Return rules that a line adopts, or was to adopt, with their first block."""
    rules = adopted.value
    return {
        "line": rules.line,
        "epoch": adopted.epoch,
        **_rule_set(rules, adopted.epoch, in_force),
        "previous": adopted.previous,
        "major": adopted.major,
        **_decided(adopted),
    }


def _rule_set(rules: StateRules, epoch: int, in_force: RulesInForce) -> View:
    """Return rules that begin with an epoch, and its first block."""
    from tallystick_state.rules import first_block  # where it is asked for

    block = first_block(epoch, in_force.lines[rules.line])
    return {"block": block, "reference": rules.rule_set.reference, "digest": rules.digest}


def _decided(change: Decision[Any] | None) -> View:
    """Return who decided a change, and by which receipt of a gate; of none, nobody."""
    view = {
        "sequence": None if change is None else change.sequence,
        "statement": None if change is None else change.statement,
        "signed_by": [] if change is None else [*change.signed_by],
    }
    if change is None or change.gate_receipt is None:
        return view
    return {**view, "gate_receipt": change.gate_receipt.digest}


def checkpoint(signed: Checkpoint, signer: Signer | None, rules_digest: str) -> View:
    """Return the checkpoint of a state, beside the digest of its rules in force and scheduled."""
    return {
        "origin": signed.origin,
        "size": signed.size,
        "root": signed.root.hex(),
        "signed_by": None if signer is None else str(signer.public),
        "checkpoint": signed.to_text(),
        "rules_digest": rules_digest,
    }


def rules_in_force(in_force: RulesInForce, epoch: int) -> View:
    """Return the rules of each line from epoch to epoch, as seen in an epoch."""
    lines = [
        {
            "line": name,
            "rules": _spans(schedule, epoch, lambda s, r: _rule_set(r, s, in_force)),
        }
        for name, schedule in in_force.schedules.items()
    ]
    shared = _spans(in_force.pools, epoch, lambda _, p: {**json_value(p), "digest": p.digest})
    return {"epoch": epoch, "lines": lines, **({"pools": shared} if shared else {})}


def _span(start: int, end: int | None, epoch: int) -> View:
    """Return the epochs in which rules hold, and their status as seen in an epoch."""
    is_over = end is not None and end <= epoch
    return {
        "status": "held" if is_over else "holds" if start <= epoch else "will hold",
        "epoch": start,
        "until": None if end is None else end - 1,
    }


def _spans(
    schedule: Schedule[Any], seen_in: int, view_of: Callable[[int, Any], View]
) -> list[View]:
    """Return the values from epoch to epoch with who decided them, as seen in an epoch."""
    decisions = {made.epoch: made for made in schedule.decisions}
    return [
        {
            **_span(start, end, seen_in),
            **view_of(start, value),
            **_decided(decisions.get(start)),
        }
        for start, end, value in schedule.timeline.spans()
        if value is not None
    ]


def whole_epoch(answer: EpochInfo) -> View:
    """Return an epoch with what the state was when it began."""
    began = answer.snapshot
    return {
        **json_value(answer),
        "previous": began.previous,
        "thresholds": json_value(began.thresholds),
        "reputation": json_value(began.reputation),
    }


def profile(miner_profile: Profile, seen: Collection[str]) -> View:
    """Return a miner, as far as somebody sees it; see `tallystick_state.leaderboard`."""
    view: View = {"hotkey": miner_profile.hotkey}
    if "reputation" in seen:
        view["reputation"] = json_value(miner_profile.reputation)
    if "rank" in seen:
        view["rank"] = dict(miner_profile.rank)
    if "dispatched_rounds" in seen:
        view["rounds_24h"] = miner_profile.rounds
        view["rounds_counted"] = miner_profile.counted
    return {**view, "epoch": miner_profile.epoch}


def verified(result: Verified) -> View:
    """Return a state that is what its log leads to."""
    view: View = {"valid": True, "entries": result.entries, "snapshots": result.snapshots}
    if result.data_checksums is not None:
        view |= {"data_checksums": result.data_checksums}
    if result.epochs is not None:
        view |= {"epochs": result.epochs, "signed_by": sorted(map(str, result.signers))}
    if result.pruned is not None:
        view |= {"pruned": {"before_epoch": result.pruned.epoch, "entry": result.pruned.seq}}
    return view


def scores(lines: Mapping[str, Mapping[str, Decimal]]) -> View:
    """Return the scores of the only line, or those of each."""
    return of_lines({line: {"scores": json_value(own)} for line, own in lines.items()})


def rounds(closed: Iterable[ClosedRound], outcome: Ingested) -> View:
    """Return the closed rounds, and the outcome of their file."""
    told: View = json_value(outcome)
    return {"rounds": [_round(each) for each in closed], **told}


def _round(closed: ClosedRound) -> View:
    return {"round": closed.round, "epoch": closed.epoch, **scores(closed.lines)}


def weights(
    lines: Mapping[str, Weights],
    shared: Weights | None = None,
    explanations: Mapping[str, Any] | None = None,
) -> View:
    """Return the weights that a validator sets, of the only line or of each.

    Args:
        lines: by line.
        shared: those of all lines together, where pools share them.
        explanations: by line, every column of one miner.
    """
    by_line = {line: json_value(own) for line, own in lines.items()}
    for line, explanation in (explanations or {}).items():
        by_line[line] |= {"explanation": json_value(explanation)}
    return of_lines(by_line) if shared is None else {**json_value(shared), "lines": by_line}
