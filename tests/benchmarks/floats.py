"""The columns of a facts file in floats of NumPy.

Nothing is proved, nothing is rounded; facts are read as results need them. Every path gives the
sum of the emissions, by which it is seen that all of them do the same work.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from by_hand import BASELINES, BASES, CONSENSUS, RAISED, WEIGHTS

from tallystick.formula.text import fact_text
from tallystick.scoring.facts.batch import FactBatch, FactRows
from tallystick.scoring.facts.catalog import catalog_of
from tallystick.scoring.facts.results import wanted_by
from tallystick.scoring.facts.source import FactsSource
from tallystick.scoring.scorer import Scorer
from tallystick_governance.backtest.candidates import Candidate

IDENTITY_FIELDS = ("task_id", "miner_uid", "miner_hotkey", "role")
CHECKS = {
    "probe_verified": 0.3,
    "trace_hashes_consistent": 0.3,
    "sandbox_digest_correct": 0.2,
    "findings_cited": 0.2,
}
IN_NANO = {
    *("t_min_s", "deadline_s", "risk_score", "reference_risk_score", "expected_aggregate_risk"),
    *("consensus", *CONSENSUS),
}
RECALLS = {
    "rag_knowledge": ("|findings[category=canary_match]|", "|distinct injected_canaries|"),
    "executable_script": (
        "|executed_commands ∩ predicted_taint_commands|",
        "|distinct predicted_taint_commands|",
    ),
    "mcp_server": (
        "|findings[category=tool_poisoning].tool ∩ expected_poisoned_tools|",
        "|distinct expected_poisoned_tools|",
    ),
}
REFERENCES = {
    "declarative": "reference_risk_score",
    "agent_composition": "expected_aggregate_risk",
}

Column = Any
"""A column of NumPy floats."""
Fact = Callable[[str], Column]
"""The column of a fact by its text."""


def axes_of(skill_type: str, fact: Fact) -> list[Column]:
    """The axes of a type, in the order of its weights."""
    verdict, truth, risk = fact("verdict"), fact("ground_truth"), fact("risk_score")
    lax = 1 - 2.5 * (1 - risk)
    wrong = np.where((verdict == 0) & (truth == 2), np.where(lax > 0, lax, 0.0), 0.5)
    wrong = np.where((verdict == 2) & (truth == 0), 1 - 0.4 * risk, wrong)
    detection = np.where(verdict == truth, 1.0, wrong)
    evidence = sum(points * fact(check) for check, points in CHECKS.items())
    mine, wanted = fact("|distinct recommended_policy|"), fact("|distinct expected_policy|")
    either = 4 * mine + wanted
    shared = 5 * fact("|recommended_policy ∩ expected_policy|") / np.where(either == 0, 1.0, either)
    policy = np.where(either == 0, 1.0, shared)
    position = position_of(fact)
    efficiency = np.where((position < 0) | (position > 1), 0.0, 1 - position)
    return [detection, evidence, policy, efficiency, *own_axes(skill_type, fact)]


def own_axes(skill_type: str, fact: Fact) -> Iterator[Column]:
    """The axes that the type has for itself."""
    if skill_type == "mcp_server":
        yield 1.0 * fact("[mcp_manifest_hash = expected_manifest_hash]")
    if skill_type in RECALLS:
        found, wanted = map(fact, RECALLS[skill_type])
        share = found / np.where(wanted == 0, 1.0, wanted)
        yield np.where(wanted == 0, 1.0, np.where(share > 1, 1.0, share))
    if skill_type in REFERENCES:
        yield 1 - abs(fact("risk_score") - fact(REFERENCES[skill_type]))


def position_of(fact: Fact) -> Column:
    """When in its window a submission came."""
    start, end = fact("t_min_s"), fact("deadline_s")
    return (fact("latency_ms") / 1000 - start) / (end - start)


def quality_of(axes: Sequence[Column], weights: Sequence[float]) -> Column:
    """The weighted geometric mean, and its gate."""
    quality = axes[0] ** weights[0]
    for axis, weight in zip(axes[1:], weights[1:], strict=True):
        quality = quality * axis**weight
    return np.where(axes[1] < 0.10, 0.0, quality)


def multiplier_of(skill_type: str, quality: Column) -> Column:
    """What the tier of a quality pays."""
    base = BASELINES[skill_type]
    upper = np.where(quality >= 1.5 * base, 2.0, np.where(quality >= 1.15 * base, 1.4, 1.0))
    return np.where(quality >= base, upper, 0.5)


def factor_of(skill_type: str, fact: Fact) -> Column:
    """Everything of the emission that does not follow from the quality."""
    position = position_of(fact)
    early = np.where(position <= 0.25, 1.15, np.where(position <= 0.5, 1.08, 1.0))
    early = np.where(position < 0, 1.0, early)
    items = sum(weight * fact(name) for name, weight in CONSENSUS.items())
    consensus = np.where(fact("[consensus itemised]") == 1, items, fact("consensus"))
    factor = BASES[skill_type] * early * np.where(fact("role") == 0, 1.0, 0.6) * consensus
    if skill_type in RAISED:
        factor = factor * np.where(fact("epoch") < 30, RAISED[skill_type], 1.0)
    return factor


def batches(path: Path, scorer: Scorer) -> Iterator[FactBatch]:
    """The facts that results need, read as scoring reads them."""
    catalogs, wanted = catalog_of(scorer.registry), wanted_by(scorer)
    for chunk in FactsSource(path):
        yield chunk.facts(catalogs, wanted)


@cache
def texts(scorer: Scorer) -> dict[str, dict[str, str]]:
    """By skill type, the digests of facts by their text."""
    return {n: {fact_text(f): f.digest for f in b.facts} for n, b in scorer.types.items()}


def numbers(rows: FactRows, scorer: Scorer) -> Fact:
    """Facts as floats, or as small whole numbers where they are such."""
    digests = texts(scorer)[rows.skill_type]

    @cache
    def fact(text: str) -> Column:
        column = rows.facts[digests[text]][rows.answered]
        return column * 1e-9 if text in IN_NANO else column

    return fact


def numpy_scored(rows: FactRows, scorer: Scorer) -> tuple[Column, Column]:
    """Quality and emission of the rows that have a submission."""
    name, fact = rows.skill_type, numbers(rows, scorer)
    quality = quality_of(axes_of(name, fact), WEIGHTS[name])
    emission = quality * multiplier_of(name, quality)
    return quality, emission * factor_of(name, fact)


def numpy_total(path: Path, scorer: Scorer) -> float:
    """The sum of the emissions."""
    found = (rows for batch in batches(path, scorer) for rows in batch.types.values())
    return sum(float(numpy_scored(rows, scorer)[1].sum()) for rows in found)


def numpy_backtest(path: Path, candidates: Sequence[Candidate]) -> float:
    """Emissions by miner under each candidate, whose axes are computed once."""
    scorer, places = candidates[0].rules, dict[str, int]()
    totals = np.zeros((len(candidates), 1 << 16))
    for batch in batches(path, scorer):
        for name, rows in batch.types.items():
            fact, miners = numbers(rows, scorer), _miners(rows, places)
            axes, factor = axes_of(name, fact), factor_of(name, fact)
            for place, candidate in enumerate(candidates):
                quality = quality_of(axes, weights_of(candidate, name))
                emission = quality * multiplier_of(name, quality) * factor
                totals[place] += np.bincount(miners, emission, totals.shape[1])
    return float(totals[0].sum())


def _miners(rows: FactRows, places: dict[str, int]) -> Column:
    encoded = rows.miner_hotkey.dictionary_encode()
    found = [places.setdefault(h, len(places)) for h in encoded.dictionary.to_pylist()]
    return np.array(found)[encoded.indices.to_numpy()][rows.answered]


@cache
def weights_of(candidate: Candidate, skill_type: str) -> tuple[float, ...]:
    """The weights of a candidate in the order of ``axes_of``."""
    mean = candidate.rules.types[skill_type].mean
    assert mean is not None
    return tuple(map(float, mean.shares.values()))
