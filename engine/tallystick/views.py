"""Views: what a state, its changes and errors are as JSON, for whoever shows them to machines.

Numbers of the field are text of nine places. The order of keys is part of a view.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tallystick.errors import RecordError, RefusedError, RuleSetError, TallystickError
from tallystick.numbers.nano import to_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from tallystick.diagnostics import Diagnostic
    from tallystick.state.groups import Group
    from tallystick.state.ingest import Ingested
    from tallystick.state.leaderboard import Standing
    from tallystick.state.ledger import ClosedEpoch, ClosedRound
    from tallystick.state.model import Miner
    from tallystick.state.queries import Profile, Weights
    from tallystick.state.replay import Verified
    from tallystick.state.rules import StateRules
    from tallystick.state.transfer import Exported

View = dict[str, Any]
"""A JSON object."""


def begun(rules: StateRules) -> View:
    """A state that was begun."""
    return {"rule_set": rules.rule_set.reference, "digest": rules.digest, "epoch": 0}


def miner(found: Miner) -> View:
    """A miner that was registered."""
    return {
        "hotkey": found.hotkey,
        "uid": found.uid,
        "types": list(found.types),
        "reputation": decimals(dict(sorted(found.reputation.items()))),
    }


def cleared(hotkey: str, flags: int) -> View:
    """How many collusion flags of a miner were cleared."""
    return {"hotkey": hotkey, "cleared": flags}


def profile(found: Profile, seen: Collection[str]) -> View:
    """A miner, as far as somebody sees it; see `tallystick.state.visibility`."""
    view: View = {"hotkey": found.hotkey}
    if "reputation" in seen:
        view["reputation"] = decimals(found.reputation)
    if "rank" in seen:
        view["rank"] = dict(found.rank)
    if "dispatched_rounds" in seen:
        view["rounds_24h"] = found.rounds
    return {**view, "epoch": found.epoch}


def leaderboard(skill_type: str, epoch: int, standings: Iterable[Standing]) -> View:
    """The leaderboard of a skill type."""
    return {"skill_type": skill_type, "epoch": epoch, "board": [_standing(s) for s in standings]}


def _standing(found: Standing) -> View:
    who = {"rank": found.rank, "hotkey": found.hotkey, "uid": found.uid}
    return {**who, "reputation": to_text(found.reputation)}


def state_digest(digest: str, epoch: int) -> View:
    """The digest of a state, and its open epoch."""
    return {"digest": digest, "epoch": epoch}


def exported(found: Exported) -> View:
    """A log that was exported or imported."""
    return {"entries": found.entries, "hash": found.hash}


def verified(found: Verified) -> View:
    """A state that is what its log leads to."""
    return {"valid": True, "entries": found.entries, "snapshots": found.snapshots}


def ingested(found: Ingested) -> View:
    """What became of a file of records and events."""
    return {"recorded": found.events, "duplicates": found.duplicates}


def rounds(closed: Iterable[ClosedRound], found: Ingested) -> View:
    """Rounds that were closed, and what became of their file."""
    return {"rounds": [_round(each) for each in closed], **ingested(found)}


def _round(found: ClosedRound) -> View:
    return {"round": found.round, "epoch": found.epoch, "scores": decimals(found.scores)}


def epoch(found: ClosedEpoch) -> View:
    """An epoch that was closed."""
    said = {"epoch": found.epoch, "already_closed": found.already}
    return {**said, "snapshot": found.snapshot.digest}


def group(found: Group) -> View:
    """The group of a dispatch."""
    members = {"primaries": list(found.primaries), "auditors": list(found.auditors)}
    return {**members, "consensus": found.consensus}


def weights(found: Weights) -> View:
    """The weights that a validator sets."""
    shares = [to_text(nano) for nano in found.weights]
    return {"uids": list(found.uids), "weights": shares, "uint16": list(found.uint16)}


def error(found: TallystickError) -> View:
    """An error, with every problem of a rule set and every refusal of a file."""
    view: View = {"error": type(found).__name__, "message": str(found)}
    if isinstance(found, RuleSetError):
        view["problems"] = [_problem(each) for each in found.problems]
    if isinstance(found, RecordError):
        view |= {name: getattr(found, name) for name in ("code", "path", "value", "expected")}
    if isinstance(found, RefusedError):
        names = "line", "code", "path", "value", "expected"
        view["refusals"] = [{n: getattr(each, n) for n in names} for each in found.refusals]
    return view


def _problem(found: Diagnostic) -> View:
    return {"file": found.file, "line": found.line, "path": found.path, **found.evidence}


def decimals(nano: Mapping[str, int]) -> dict[str, str]:
    """Nano values by name, as text of nine places."""
    return {name: to_text(value) for name, value in nano.items()}
