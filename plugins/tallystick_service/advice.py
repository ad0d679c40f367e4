"""Advice: a record explained by its edges, and the moves that gain, for a page and an API."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tallystick.json_values import JsonObject, json_value
from tallystick.scoring.explanation import Cliff, Explanation
from tallystick.scoring.scorer import RecordLike, Scorer
from tallystick_service.distance import Distance
from tallystick_service.what_next import Move, what_next


def advice(scorer: Scorer, record: RecordLike) -> JsonObject:
    """Return a record explained, its outcome, the distances to its edges, and what would earn more.

    Distances are to each gate and tier, and to the edges of factors; moves are of one fact each,
    the best first.

    Raises:
        RecordError: the record cannot be scored.
    """
    explanation = scorer.explain(record)
    told = explanation.to_dict()
    moves = what_next(scorer, record)
    return {
        "explanation": told,
        "outcome": {name: told["result"][name] for name in ("quality", "tier", "emission")},
        "distances": json_value([*distances(explanation)]),
        "moves": [{"sentence": sentence(move), **json_value(move)} for move in moves],
    }


def distances(explanation: Explanation) -> Iterator[Distance]:
    """Yield how far a record is from each gate, each tier and each edge of an emission factor."""
    composite, tier = explanation.composite, explanation.tier
    for gate in composite.gates if composite is not None else ():
        axis = gate.name.partition(" ")[0]
        yield _distance(f"the gate of {axis}", gate, "below it the composite is replaced")
    for threshold in tier.thresholds if tier is not None else ():
        yield _distance(
            f"the threshold {threshold.name}", threshold, "from there on the tier is higher"
        )
    for factor in explanation.factors:
        for cliff in factor.cliffs:
            yield _distance(f"the edge {cliff.name} of {factor.name}", cliff, "")


def _distance(edge: str, cliff: Cliff, meaning: str) -> Distance:
    return Distance(edge, Fraction(cliff.value), Fraction(cliff.edge), cliff.passed, meaning)


def sentence(move: Move) -> str:
    """Return a move as a sentence without a full stop."""
    change = f"{move.before} → {move.after}"
    match move.reader:
        case "overlap":
            return f"share more of {move.path} with {move.other}: {change}"
        case "distinct":
            more = "add to" if move.direction == "more" else "leave out of"
            return f"{more} {move.path} what is different: {change}"
        case "count":
            more = "more" if move.direction == "more" else "fewer"
            return f"have {more} items in {move.path}: {change}"
        case "equal":
            return f"make {move.path} equal to {move.other}: {change}"
        case "flag":
            return f"have {move.path} be {'true' if move.after == 'yes' else 'false'}"
        case "choice":
            return f"answer {move.after} in {move.path} in place of {move.before}"
    word = "raise" if move.direction == "more" else "lower"
    return f"{word} {move.path}: {change}"
