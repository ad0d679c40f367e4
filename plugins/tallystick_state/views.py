"""Views: a state and its changes as JSON objects, for machines.

Numbers of the field are text of nine places. The order of keys is part of a view.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tallystick.json_values import JsonObject as View
from tallystick.json_values import json_value
from tallystick.json_values import nano_value as decimals
from tallystick.numbers.nano import to_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from decimal import Decimal

    from tallystick_state.answers import (
        ClaimInfo,
        ClosedEpoch,
        ClosedRound,
        EpochInfo,
        MinerInfo,
        Profile,
        Recent,
        Rerun,
        RoundInfo,
        StateInfo,
        Synced,
    )
    from tallystick_state.claims import AllowedValidators
    from tallystick_state.genesis import Origin
    from tallystick_state.groups import Group
    from tallystick_state.ingest import Ingested
    from tallystick_state.leaderboard import Standing
    from tallystick_state.pools import Pools, PoolsChange, PoolsInForce
    from tallystick_state.prune import Pruning
    from tallystick_state.replay import Verified
    from tallystick_state.rules import EpochRules
    from tallystick_state.rules_in_force import Adoption, RulesInForce
    from tallystick_state.transfer import Exported
    from tallystick_state.trust.policy import TrustRoot
    from tallystick_state.weights import Weights


def begun(
    rules: EpochRules,
    allowed: AllowedValidators,
    root: TrustRoot | None = None,
    shared: Pools | None = None,
) -> View:
    """Return a state that was begun."""
    return {**_under(rules), **pools(shared), "epoch": 0, **json_value(allowed), **trusted(root)}


def origin(began: Origin) -> View:
    """Return the values with which a state began beside its rules, if there are any."""
    view: View = {} if began.network is None else {"network": began.network}
    if began.carry is not None:
        carry = began.carry
        counts = {"miners": len(carry.state.miners), "records": carry.records}
        view |= {"carry": {"digest": carry.digest, **counts}}
    return view


def pruning(pruned: Pruning) -> View:
    """Return the outcome of a pruning."""
    return {
        "epoch": pruned.epoch,
        "already": pruned.already,
        "entries": pruned.entries,
        "events": pruned.events,
        "left": pruned.left,
        "bytes_before": pruned.bytes_before,
        "bytes_after": pruned.bytes_after,
    }


def pools(shares: Pools | None) -> View:
    """Return the shares of the lines in the weight of a state, if there are any."""
    return {} if shares is None else {"pools": json_value(shares)}


def pools_change(change: PoolsChange) -> View:
    """Return a change of pools."""
    return {
        **json_value(change),
        "digest": change.pools.digest,
        "statement": change.statement,
        "signed_by": list(change.signed_by),
    }


def trusted(root: TrustRoot | None) -> View:
    """Return the trust file in force, where there is one."""
    if root is None:
        return {}
    return {"network": root.network, "trust_version": root.version, "trust_digest": root.digest}


def _under(rules: EpochRules) -> View:
    """Return the rule set that a state follows, or that of each of its lines."""
    rule_sets = {
        line_rules.line: {"rule_set": line_rules.rule_set.reference, "digest": line_rules.digest}
        for line_rules in rules.lines
    }
    return {"lines": rule_sets} if len(rule_sets) > 1 else next(iter(rule_sets.values()))


def miner(answer: MinerInfo) -> View:
    """Return a miner that was registered."""
    return {
        "hotkey": answer.hotkey,
        "uid": answer.uid,
        "types": list(answer.types),
        "reputation": decimals(answer.reputation),
    }


def miners(epoch: int, answers: Iterable[MinerInfo], reason: str = "") -> View:
    """Return the miners of a state, or the reason why there are none."""
    rows = [{**miner(answer), "flags": answer.flags, **_flagged_by(answer)} for answer in answers]
    return explained({"epoch": epoch, "miners": rows}, "miners", reason)


def _flagged_by(answer: MinerInfo) -> View:
    """Return the flags of a miner by validator, where the rule set has a quorum."""
    return {"flagged_by": dict(answer.flagged_by)} if answer.flagged_by else {}


def synced(changes: Synced) -> View:
    """Return what a list of miners changed."""
    names = ("registered", "moved", "changed", "retired")
    return {
        **{name: list(getattr(changes, name)) for name in names},
        "unchanged": changes.unchanged,
    }


def info(
    where: str,
    rules: EpochRules,
    summary: StateInfo,
    allowed: AllowedValidators,
    root: TrustRoot | None = None,
) -> View:
    """Return a state at a glance; whom it hears, trusts and what waits only where there is any."""
    waiting = {"quarantine": summary.quarantine} if summary.quarantine else {}
    return {
        "state": where,
        **_under(rules),
        "epoch": summary.epoch,
        "snapshot": summary.snapshot,
        "miners": summary.miners,
        "slots": summary.slots,
        "last_round": summary.records_round,
        "closed_rounds": summary.closed_rounds,
        "open_events": summary.open_events,
        "entries": summary.entries,
        "hash": summary.hash,
        **json_value(allowed),
        **trusted(root),
        **waiting,
    }


def adoption(adopted: Adoption, in_force: RulesInForce) -> View:
    """Return rules that a line adopts, or was to adopt, with their first block."""
    from tallystick_state.rules import first_block  # where it is asked for

    return {
        "line": adopted.line,
        "epoch": adopted.epoch,
        "block": first_block(adopted.epoch, in_force.lines[adopted.line]),
        "reference": adopted.rules.rule_set.reference,
        "digest": adopted.rules.digest,
        "previous": adopted.previous,
        "sequence": adopted.sequence,
        "major": adopted.major,
        "statement": adopted.statement,
        "signed_by": list(adopted.signed_by),
        **_gate_receipt(adopted),
    }


def _gate_receipt(adopted: Adoption | None) -> View:
    """Return the digest of the receipt with which rules were adopted, where there was one."""
    receipt = None if adopted is None else adopted.gate_receipt
    return {} if receipt is None else {"gate_receipt": receipt.digest}


def rules_in_force(in_force: RulesInForce, epoch: int) -> View:
    """Return the rules of each line from epoch to epoch, as seen in an epoch."""
    lines = [{"line": name, "rules": _spans(in_force, name, epoch)} for name in in_force.lines]
    shared = _pools_spans(in_force.pools, epoch)
    return {"epoch": epoch, "lines": lines, **({"pools": shared} if shared else {})}


def _pools_spans(in_force: PoolsInForce, epoch: int) -> list[View]:
    changes = {change_of_pools.epoch: change_of_pools for change_of_pools in in_force.changes}
    views = []
    for start, end, shares in in_force.timeline.spans():
        change = changes.get(start)
        if shares is not None:
            views.append(
                {
                    **_span(start, end, epoch),
                    **json_value(shares),
                    "digest": shares.digest,
                    "sequence": None if change is None else change.sequence,
                    "statement": None if change is None else change.statement,
                    "signed_by": [] if change is None else list(change.signed_by),
                }
            )
    return views


def _span(start: int, end: int | None, epoch: int) -> View:
    """Return the epochs in which rules hold, and their status as seen in an epoch."""
    is_over = end is not None and end <= epoch
    return {
        "status": "held" if is_over else "holds" if start <= epoch else "will hold",
        "epoch": start,
        "until": None if end is None else end - 1,
    }


def _spans(in_force: RulesInForce, line: str, epoch: int) -> list[View]:
    from tallystick_state.rules import first_block

    timeline = in_force.lines[line]
    adoptions = {
        adoption_of_line.epoch: adoption_of_line
        for adoption_of_line in in_force.adoptions.get(line, ())
    }
    views = []
    for start, end, rules in timeline.spans():
        adopted = adoptions.get(start)
        views.append(
            {
                **_span(start, end, epoch),
                "block": first_block(start, timeline),
                "reference": rules.rule_set.reference,
                "digest": rules.digest,
                "sequence": None if adopted is None else adopted.sequence,
                "statement": None if adopted is None else adopted.statement,
                "signed_by": [] if adopted is None else list(adopted.signed_by),
                **_gate_receipt(adopted),
            }
        )
    return views


def round_info(
    answer: RoundInfo,
    lines: Mapping[str, Mapping[str, Decimal]] | None = None,
    reruns: Sequence[Rerun] = (),
) -> View:
    """Return a round, with its scores by line and the submissions to run again, if any."""
    view: View = {
        "round": answer.round,
        "epoch": answer.epoch,
        "closed": answer.closed,
        "at": answer.at,
        "records": answer.records,
        "miners": answer.miners,
    }
    if reruns:
        names = ("skill_type", "task_id", "validator", "hotkey")
        view["reruns"] = [{name: getattr(rerun, name) for name in names} for rerun in reruns]
    return view if lines is None else {**view, **_scores(lines)}


def _scores(lines: Mapping[str, Mapping[str, Decimal]]) -> View:
    """Return the scores of the only line, or those of each."""
    by_line = {line: {"scores": decimals(scores)} for line, scores in lines.items()}
    return {"lines": by_line} if len(by_line) > 1 else next(iter(by_line.values()))


def round_infos(answers: Iterable[RoundInfo], reason: str = "") -> View:
    """Return the rounds of a state; the reason is why there are none."""
    return explained({"rounds": [round_info(answer) for answer in answers]}, "rounds", reason)


def epoch_info(answer: EpochInfo, *, whole: bool = False) -> View:
    """Return an epoch; if asked for whole, with what the state was when it began."""
    view: View = {
        "epoch": answer.epoch,
        "open": answer.is_open,
        "at": answer.at,
        "events": answer.events,
        "snapshot": answer.snapshot.digest,
    }
    if whole:
        begun = answer.snapshot
        view["previous"] = begun.previous
        view["thresholds"] = {name: decimals(values) for name, values in begun.thresholds.items()}
        view["reputation"] = {name: decimals(values) for name, values in begun.reputation.items()}
    return view


def explained(view: View, key: str, reason: str) -> View:
    """Return a view that says why a list of it is empty."""
    return view if view[key] else {**view, "reason": reason}


def cleared(hotkey: str, flags: int) -> View:
    """Return the number of collusion flags of a miner that were cleared."""
    return {"hotkey": hotkey, "cleared": flags}


def profile(miner_profile: Profile, seen: Collection[str]) -> View:
    """Return a miner, as far as somebody sees it; see `tallystick_state.leaderboard`."""
    view: View = {"hotkey": miner_profile.hotkey}
    if "reputation" in seen:
        view["reputation"] = decimals(miner_profile.reputation)
    if "rank" in seen:
        view["rank"] = dict(miner_profile.rank)
    if "dispatched_rounds" in seen:
        view["rounds_24h"] = miner_profile.rounds
        view["rounds_counted"] = miner_profile.counted
    return {**view, "epoch": miner_profile.epoch}


def recent(answer: Recent) -> View:
    """Return what a miner is paid now, its newest scores, and what moved its reputations."""
    weights = {line: None if w is None else to_text(w) for line, w in answer.weights.items()}
    return {
        "uid": answer.uid,
        "weights": weights,
        "without": dict(answer.reasons),
        "scores": [json_value(score) for score in answer.scores],
        "movements": [json_value(movement) for movement in answer.movements],
    }


def leaderboard(
    skill_type: str, epoch: int, standings: Iterable[Standing], reason: str = ""
) -> View:
    """Return the leaderboard of a skill type; the reason is why it is empty."""
    board = [_standing(standing) for standing in standings]
    return explained({"skill_type": skill_type, "epoch": epoch, "board": board}, "board", reason)


def _standing(standing: Standing) -> View:
    who = {"rank": standing.rank, "hotkey": standing.hotkey, "uid": standing.uid}
    return {**who, "reputation": to_text(standing.reputation)}


def state_digest(digest: str, epoch: int) -> View:
    """Return the digest of a state, and its open epoch."""
    return {"digest": digest, "epoch": epoch}


def rules_digest(digest: str) -> View:
    """Return the digest of the rules in force and scheduled, beside that of a state."""
    return {"rules_digest": digest}


def exported(export: Exported) -> View:
    """Return a log that was exported."""
    return {"entries": export.entries, "hash": export.hash}


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


def ingested(outcome: Ingested) -> View:
    """Return the outcome of a file of records and events, without what is empty."""
    several: View = {
        "quarantined": dict(outcome.quarantined),
        "refused": dict(outcome.refused),
        "displaced": outcome.displaced,
        "released": outcome.released,
        "left_out": dict(outcome.left_out),
        "told": [json_value(reject) for reject in outcome.told],
    }
    parts = {name: value for name, value in several.items() if value}
    return {"recorded": outcome.events, "duplicates": outcome.duplicates, **parts}


def quarantine(claims: Iterable[ClaimInfo], reason: str = "") -> View:
    """Return the claims in quarantine, or the reason why there are none."""
    return explained({"claims": [_claim(claim) for claim in claims]}, "claims", reason)


def _claim(claim: ClaimInfo) -> View:
    view: View = {
        "claim": claim.seq,
        "reason": claim.reason,
        "rank": claim.rank,
        "validator": claim.validator,
        "hotkey": claim.hotkey,
        "skill_type": claim.skill_type,
        "task_id": claim.task_id,
        "round": claim.round,
        "epoch": claim.epoch,
        "id": claim.id,
        "events": list(claim.events),
    }
    if claim.alignment is not None:
        view["alignment"] = list(claim.alignment)
    return view if claim.quality is None else {**view, "quality": to_text(claim.quality)}


def accepted(claims: Iterable[int]) -> View:
    """Return the numbers of the claims that the operator accepted."""
    return {"accepted": sorted(claims)}


def dropped(claims: Iterable[int], released: int) -> View:
    """Return the numbers of the dropped claims, and how many others were released."""
    return {"dropped": sorted(claims), "released": released}


def rounds(
    closed: Iterable[ClosedRound],
    outcome: Ingested,
    tried: Mapping[str, Mapping[int, Mapping[str, Decimal]]],
) -> View:
    """Return the closed rounds, the outcome of their file, and the scores of second passes."""
    return {"rounds": [_round(closed_round, tried) for closed_round in closed], **ingested(outcome)}


def _round(
    closed_round: ClosedRound, tried: Mapping[str, Mapping[int, Mapping[str, Decimal]]]
) -> View:
    passes = {
        name: decimals(scores[closed_round.round])
        for name, scores in tried.items()
        if closed_round.round in scores
    }
    return {
        "round": closed_round.round,
        "epoch": closed_round.epoch,
        **_scores(closed_round.lines),
        **passes,
    }


def epoch(closed_epoch: ClosedEpoch) -> View:
    """Return an epoch that was closed."""
    fields = {"epoch": closed_epoch.epoch, "already_closed": closed_epoch.already}
    return {**fields, "snapshot": closed_epoch.snapshot.digest}


def group(selected: Group, reason: str = "") -> View:
    """Return the group of a dispatch; the reason is why it has no primaries."""
    return explained(json_value(selected), "primaries", reason)


def weights(
    lines: Mapping[str, Weights],
    shared: Weights | None = None,
    explanations: Mapping[str, View] | None = None,
) -> View:
    """Return the weights that a validator sets, of the only line or of each.

    Args:
        lines: by line.
        shared: those of all lines together, where pools share them.
        explanations: by line, every column of one miner.
    """
    explained_lines = {line: {"explanation": item} for line, item in (explanations or {}).items()}
    by_line = {
        line: {**_weights(item), **explained_lines.get(line, {})} for line, item in lines.items()
    }
    if shared is not None:
        return {**_weights(shared), "lines": by_line}
    return {"lines": by_line} if len(by_line) > 1 else next(iter(by_line.values()))


def _weights(chosen: Weights) -> View:
    shares = [to_text(share) for share in chosen.weights]
    without = Counter(chosen.without.values())
    view = {
        "uids": list(chosen.uids),
        "weights": shares,
        "uint16": list(chosen.uint16.values()),
        **_dropped(chosen),
        **({"without": dict(sorted(without.items()))} if without else {}),
    }
    return explained(view, "uids", chosen.reason)


def _dropped(chosen: Weights) -> View:
    if not chosen.dropped:
        return {}
    return {"dropped": {str(uid): reason for uid, reason in chosen.dropped.items()}}
