"""The columns of a facts file in floats, with NumPy or polars, which share their arithmetic.

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
from tallystick.scoring.facts.file import column_name
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
"""Of NumPy or of polars."""
Where = Callable[[Column, Column, Column], Column]
Fact = Callable[[str], Column]
"""The column of a fact by its text."""


def axes_of(skill_type: str, fact: Fact, where: Where) -> list[Column]:
    """The axes of a type, in the order of its weights."""
    verdict, truth, risk = fact("verdict"), fact("ground_truth"), fact("risk_score")
    lax = 1 - 2.5 * (1 - risk)
    wrong = where((verdict == 0) & (truth == 2), where(lax > 0, lax, 0.0), 0.5)
    wrong = where((verdict == 2) & (truth == 0), 1 - 0.4 * risk, wrong)
    detection = where(verdict == truth, 1.0, wrong)
    evidence = sum(points * fact(check) for check, points in CHECKS.items())
    mine, wanted = fact("|distinct recommended_policy|"), fact("|distinct expected_policy|")
    either = 4 * mine + wanted
    shared = 5 * fact("|recommended_policy ∩ expected_policy|") / where(either == 0, 1.0, either)
    policy = where(either == 0, 1.0, shared)
    position = position_of(fact)
    efficiency = where((position < 0) | (position > 1), 0.0, 1 - position)
    return [detection, evidence, policy, efficiency, *own_axes(skill_type, fact, where)]


def own_axes(skill_type: str, fact: Fact, where: Where) -> Iterator[Column]:
    """The axes that the type has for itself."""
    if skill_type == "mcp_server":
        yield 1.0 * fact("[mcp_manifest_hash = expected_manifest_hash]")
    if skill_type in RECALLS:
        found, wanted = map(fact, RECALLS[skill_type])
        share = found / where(wanted == 0, 1.0, wanted)
        yield where(wanted == 0, 1.0, where(share > 1, 1.0, share))
    if skill_type in REFERENCES:
        yield 1 - abs(fact("risk_score") - fact(REFERENCES[skill_type]))


def position_of(fact: Fact) -> Column:
    """When in its window a submission came."""
    start, end = fact("t_min_s"), fact("deadline_s")
    return (fact("latency_ms") / 1000 - start) / (end - start)


def quality_of(axes: Sequence[Column], weights: Sequence[float], where: Where) -> Column:
    """The weighted geometric mean, and its gate."""
    quality = axes[0] ** weights[0]
    for axis, weight in zip(axes[1:], weights[1:], strict=True):
        quality = quality * axis**weight
    return where(axes[1] < 0.10, 0.0, quality)


def multiplier_of(skill_type: str, quality: Column, where: Where) -> Column:
    """What the tier of a quality pays."""
    base = BASELINES[skill_type]
    upper = where(quality >= 1.5 * base, 2.0, where(quality >= 1.15 * base, 1.4, 1.0))
    return where(quality >= base, upper, 0.5)


def factor_of(skill_type: str, fact: Fact, where: Where) -> Column:
    """Everything of the emission that does not follow from the quality."""
    position = position_of(fact)
    early = where(position <= 0.25, 1.15, where(position <= 0.5, 1.08, 1.0))
    early = where(position < 0, 1.0, early)
    items = sum(weight * fact(name) for name, weight in CONSENSUS.items())
    consensus = where(fact("[consensus itemised]") == 1, items, fact("consensus"))
    factor = BASES[skill_type] * early * where(fact("role") == 0, 1.0, 0.6) * consensus
    if skill_type in RAISED:
        factor = factor * where(fact("epoch") < 30, RAISED[skill_type], 1.0)
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
    quality = quality_of(axes_of(name, fact, np.where), WEIGHTS[name], np.where)
    emission = quality * multiplier_of(name, quality, np.where)
    return quality, emission * factor_of(name, fact, np.where)


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
            axes, factor = axes_of(name, fact, np.where), factor_of(name, fact, np.where)
            for place, candidate in enumerate(candidates):
                quality = quality_of(axes, weights_of(candidate, name), np.where)
                emission = quality * multiplier_of(name, quality, np.where) * factor
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


def polars_frame(path: Path, scorer: Scorer) -> Any:  # noqa: ANN401  # polars need not be there
    """What polars makes of a facts file, by type."""
    import polars as pl  # it need not be there

    def where(condition: Column, yes: Column, no: Column) -> Column:
        return pl.when(condition).then(yes).otherwise(no)

    def of_type(name: str) -> Any:  # noqa: ANN401  # as above
        def fact(text: str) -> Column:
            column = pl.col(column_name(texts(scorer)[name][text]))
            return column * 1e-9 if text in IN_NANO else column

        quality = quality_of(axes_of(name, fact, where), WEIGHTS[name], where)
        rows = pl.scan_parquet(path).filter(pl.col("skill_type") == name, "answered")
        scored = rows.select(
            *("record", "skill_type", *IDENTITY_FIELDS),
            quality.alias("quality"),
            factor_of(name, fact, where).alias("factor"),
        )
        tier = multiplier_of(name, pl.col("quality"), where)
        emission = pl.col("quality") * tier * pl.col("factor")
        return scored.with_columns(emission.alias("emission")).drop("factor")

    return pl.concat([of_type(name) for name in scorer.types]).collect(engine="streaming")


def polars_total(path: Path, scorer: Scorer) -> float:
    """The sum of the emissions."""
    return float(polars_frame(path, scorer)["emission"].sum())
