"""Views: what a state and its changes are as JSON, for whoever shows them to machines.

Numbers of the field are text of nine places. The order of keys is part of a view.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import attrs

from tallystick.json_values import JsonObject as View
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
        Rerun,
        RoundInfo,
        StateInfo,
        Synced,
    )
    from tallystick_state.claims import AllowedValidators
    from tallystick_state.groups import Group
    from tallystick_state.ingest import Ingested
    from tallystick_state.leaderboard import Standing
    from tallystick_state.pools import Pools, PoolsChange, PoolsInForce
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
    """A state that was begun."""
    return {**_under(rules), **pools(shared), "epoch": 0, **allowed.to_dict(), **trusted(root)}


def pools(found: Pools | None) -> View:
    """How lines share the weight of a state, where they do."""
    return {} if found is None else {"pools": found.to_dict()}


def pools_change(found: PoolsChange) -> View:
    """Pools that a state has from an epoch on."""
    return {
        **found.to_dict(),
        "digest": found.pools.digest,
        "statement": found.statement,
        "signed_by": list(found.signed_by),
    }


def trusted(root: TrustRoot | None) -> View:
    """The trust file in force, where there is one."""
    if root is None:
        return {}
    return {"network": root.network, "trust_version": root.version, "trust_digest": root.digest}


def _under(rules: EpochRules) -> View:
    """The rule set that a state follows, or that of each of its lines."""
    found = {
        each.line: {"rule_set": each.rule_set.reference, "digest": each.digest}
        for each in rules.lines
    }
    return {"lines": found} if len(found) > 1 else next(iter(found.values()))


def miner(found: MinerInfo) -> View:
    """A miner that was registered."""
    return {
        "hotkey": found.hotkey,
        "uid": found.uid,
        "types": list(found.types),
        "reputation": decimals(found.reputation),
    }


def miners(epoch: int, found: Iterable[MinerInfo], reason: str = "") -> View:
    """Miners of a state; the reason is why there are none."""
    rows = [{**miner(each), "flags": each.flags, **_flagged_by(each)} for each in found]
    return explained({"epoch": epoch, "miners": rows}, "miners", reason)


def _flagged_by(found: MinerInfo) -> View:
    """Who flagged a miner, where the rule set asks for a quorum."""
    return {"flagged_by": dict(found.flagged_by)} if found.flagged_by else {}


def synced(found: Synced) -> View:
    """Return what a list of miners changed."""
    names = ("registered", "moved", "changed", "retired")
    return {
        **{name: list(getattr(found, name)) for name in names},
        "unchanged": found.unchanged,
    }


def info(
    where: str,
    rules: EpochRules,
    found: StateInfo,
    allowed: AllowedValidators,
    root: TrustRoot | None = None,
) -> View:
    """A state at a glance; whom it hears, trusts and what waits only where there is any."""
    waiting = {"quarantine": found.quarantine} if found.quarantine else {}
    return {
        "state": where,
        **_under(rules),
        "epoch": found.epoch,
        "snapshot": found.snapshot,
        "miners": found.miners,
        "slots": found.slots,
        "last_round": found.records_round,
        "closed_rounds": found.closed_rounds,
        "open_events": found.open_events,
        "entries": found.entries,
        "hash": found.hash,
        **allowed.to_dict(),
        **trusted(root),
        **waiting,
    }


def adoption(found: Adoption, in_force: RulesInForce) -> View:
    """Rules that a line adopts, or was to adopt, with the block that they begin with."""
    from tallystick_state.rules import first_block  # where it is asked for

    return {
        "line": found.line,
        "epoch": found.epoch,
        "block": first_block(found.epoch, in_force.lines[found.line]),
        "reference": found.rules.rule_set.reference,
        "digest": found.rules.digest,
        "previous": found.previous,
        "sequence": found.sequence,
        "major": found.major,
        "statement": found.statement,
        "signed_by": list(found.signed_by),
    }


def rules_in_force(found: RulesInForce, epoch: int) -> View:
    """The rules of each line from epoch to epoch, as seen in an epoch."""
    lines = [{"line": name, "rules": _spans(found, name, epoch)} for name in found.lines]
    shared = _pools_spans(found.pools, epoch)
    return {"epoch": epoch, "lines": lines, **({"pools": shared} if shared else {})}


def _pools_spans(found: PoolsInForce, epoch: int) -> list[View]:
    changes = {each.epoch: each for each in found.changes}
    views = []
    for start, end, held in found.timeline.spans():
        change = changes.get(start)
        if held is not None:
            views.append(
                {
                    **_span(start, end, epoch),
                    **held.to_dict(),
                    "digest": held.digest,
                    "sequence": None if change is None else change.sequence,
                    "statement": None if change is None else change.statement,
                    "signed_by": [] if change is None else list(change.signed_by),
                }
            )
    return views


def _span(start: int, end: int | None, epoch: int) -> View:
    """When something holds, as seen in an epoch."""
    held = end is not None and end <= epoch
    return {
        "status": "held" if held else "holds" if start <= epoch else "will hold",
        "epoch": start,
        "until": None if end is None else end - 1,
    }


def _spans(found: RulesInForce, line: str, epoch: int) -> list[View]:
    from tallystick_state.rules import first_block

    timeline = found.lines[line]
    adoptions = {each.epoch: each for each in found.adoptions.get(line, ())}
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
            }
        )
    return views


def round_info(
    found: RoundInfo,
    lines: Mapping[str, Mapping[str, Decimal]] | None = None,
    reruns: Sequence[Rerun] = (),
) -> View:
    """A round with records; with its scores by line, and what is to be run again, where given."""
    view: View = {
        "round": found.round,
        "epoch": found.epoch,
        "closed": found.closed,
        "at": found.at,
        "records": found.records,
        "miners": found.miners,
    }
    if reruns:
        names = ("skill_type", "task_id", "validator", "hotkey")
        view["reruns"] = [{name: getattr(each, name) for name in names} for each in reruns]
    return view if lines is None else {**view, **_scores(lines)}


def _scores(lines: Mapping[str, Mapping[str, Decimal]]) -> View:
    """The scores of the only line, or those of each."""
    found = {line: {"scores": decimals(scores)} for line, scores in lines.items()}
    return {"lines": found} if len(found) > 1 else next(iter(found.values()))


def round_infos(found: Iterable[RoundInfo], reason: str = "") -> View:
    """The rounds of a state; the reason is why there are none."""
    return explained({"rounds": [round_info(each) for each in found]}, "rounds", reason)


def epoch_info(found: EpochInfo, *, whole: bool = False) -> View:
    """An epoch; if asked for whole, with what the state was when it began."""
    view: View = {
        "epoch": found.epoch,
        "open": found.is_open,
        "at": found.at,
        "events": found.events,
        "snapshot": found.snapshot.digest,
    }
    if whole:
        begun = found.snapshot
        view["previous"] = begun.previous
        view["thresholds"] = {name: decimals(each) for name, each in begun.thresholds.items()}
        view["reputation"] = {name: decimals(each) for name, each in begun.reputation.items()}
    return view


def explained(view: View, key: str, reason: str) -> View:
    """A view that says why a list of it is empty."""
    return view if view[key] else {**view, "reason": reason}


def cleared(hotkey: str, flags: int) -> View:
    """How many collusion flags of a miner were cleared."""
    return {"hotkey": hotkey, "cleared": flags}


def profile(found: Profile, seen: Collection[str]) -> View:
    """A miner, as far as somebody sees it; see `tallystick_state.leaderboard`."""
    view: View = {"hotkey": found.hotkey}
    if "reputation" in seen:
        view["reputation"] = decimals(found.reputation)
    if "rank" in seen:
        view["rank"] = dict(found.rank)
    if "dispatched_rounds" in seen:
        view["rounds_24h"] = found.rounds
    return {**view, "epoch": found.epoch}


def leaderboard(
    skill_type: str, epoch: int, standings: Iterable[Standing], reason: str = ""
) -> View:
    """The leaderboard of a skill type; the reason is why it is empty."""
    board = [_standing(each) for each in standings]
    return explained({"skill_type": skill_type, "epoch": epoch, "board": board}, "board", reason)


def _standing(found: Standing) -> View:
    who = {"rank": found.rank, "hotkey": found.hotkey, "uid": found.uid}
    return {**who, "reputation": to_text(found.reputation)}


def state_digest(digest: str, epoch: int) -> View:
    """The digest of a state, and its open epoch."""
    return {"digest": digest, "epoch": epoch}


def rules_digest(digest: str) -> View:
    """The digest of the rules in force and scheduled, beside that of a state."""
    return {"rules_digest": digest}


def exported(found: Exported) -> View:
    """A log that was exported."""
    return {"entries": found.entries, "hash": found.hash}


def imported(found: Exported) -> View:
    """A log that was imported; what became of an older format only where it was one."""
    if found.renewed_from is None:
        return exported(found)
    snapshots = {"other_snapshots": list(found.other_snapshots)}
    return {**exported(found), "renewed_from": found.renewed_from, **snapshots}


def verified(found: Verified) -> View:
    """A state that is what its log leads to."""
    view: View = {"valid": True, "entries": found.entries, "snapshots": found.snapshots}
    if found.data_checksums is not None:
        view |= {"data_checksums": found.data_checksums}
    if found.epochs is not None:
        view |= {"epochs": found.epochs, "signed_by": sorted(map(str, found.signers))}
    return view


def ingested(found: Ingested) -> View:
    """Return the outcome of a file of records and events, without what is empty."""
    several: View = {
        "quarantined": dict(found.quarantined),
        "refused": dict(found.refused),
        "displaced": found.displaced,
        "released": found.released,
        "left_out": dict(found.left_out),
        "told": [each.to_dict() for each in found.told],
    }
    told = {name: value for name, value in several.items() if value}
    return {"recorded": found.events, "duplicates": found.duplicates, **told}


def quarantine(found: Iterable[ClaimInfo], reason: str = "") -> View:
    """Claims that are not recorded; the reason is why there are none."""
    return explained({"claims": [_claim(each) for each in found]}, "claims", reason)


def _claim(found: ClaimInfo) -> View:
    view: View = {
        "claim": found.seq,
        "reason": found.reason,
        "rank": found.rank,
        "validator": found.validator,
        "hotkey": found.hotkey,
        "skill_type": found.skill_type,
        "task_id": found.task_id,
        "round": found.round,
        "epoch": found.epoch,
        "id": found.id,
        "events": list(found.events),
    }
    if found.alignment is not None:
        view["alignment"] = list(found.alignment)
    return view if found.quality is None else {**view, "quality": to_text(found.quality)}


def accepted(claims: Iterable[int]) -> View:
    """Claims that the operator accepted, by their numbers."""
    return {"accepted": sorted(claims)}


def dropped(claims: Iterable[int], released: int) -> View:
    """Claims that the operator dropped, by their numbers, and how many others that released."""
    return {"dropped": sorted(claims), "released": released}


def rounds(
    closed: Iterable[ClosedRound],
    found: Ingested,
    tried: Mapping[str, Mapping[int, Mapping[str, Decimal]]],
) -> View:
    """Rounds that were closed, what became of their file, and what each second pass makes of it."""
    return {"rounds": [_round(each, tried) for each in closed], **ingested(found)}


def _round(found: ClosedRound, tried: Mapping[str, Mapping[int, Mapping[str, Decimal]]]) -> View:
    passes = {
        name: decimals(scores[found.round])
        for name, scores in tried.items()
        if found.round in scores
    }
    return {"round": found.round, "epoch": found.epoch, **_scores(found.lines), **passes}


def epoch(found: ClosedEpoch) -> View:
    """An epoch that was closed."""
    said = {"epoch": found.epoch, "already_closed": found.already}
    return {**said, "snapshot": found.snapshot.digest}


def group(found: Group, reason: str = "") -> View:
    """The group of a dispatch; the reason is why it has no primaries."""
    return explained(attrs.asdict(found), "primaries", reason)


def weights(
    lines: Mapping[str, Weights],
    shared: Weights | None = None,
    explanations: Mapping[str, View] | None = None,
) -> View:
    """The weights that a validator sets, of the only line or of each.

    Args:
        lines: by line.
        shared: those of all lines together, where pools share them.
        explanations: by line, every column of one miner.
    """
    told = {line: {"explanation": each} for line, each in (explanations or {}).items()}
    found = {line: {**_weights(each), **told.get(line, {})} for line, each in lines.items()}
    if shared is not None:
        return {**_weights(shared), "lines": found}
    return {"lines": found} if len(found) > 1 else next(iter(found.values()))


def _weights(found: Weights) -> View:
    shares = [to_text(share) for share in found.weights]
    without = Counter(found.without.values())
    view = {
        "uids": list(found.uids),
        "weights": shares,
        "uint16": list(found.uint16.values()),
        **_dropped(found),
        **({"without": dict(sorted(without.items()))} if without else {}),
    }
    return explained(view, "uids", found.reason)


def _dropped(found: Weights) -> View:
    if not found.dropped:
        return {}
    return {"dropped": {str(uid): reason for uid, reason in found.dropped.items()}}
