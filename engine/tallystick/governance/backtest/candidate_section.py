"""The chapter of a report on one candidate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tallystick.governance.backtest import plots
from tallystick.governance.backtest.comparison import CandidateComparison, TypeComparison
from tallystick.governance.backtest.comparison_model import Comparison
from tallystick.governance.backtest.distances import EDGES, Distances
from tallystick.governance.backtest.distribution import (
    MinerChange,
    losers,
    relative_losers,
    relative_winners,
    winners,
)
from tallystick.governance.backtest.markup import Markup, element, joined, table
from tallystick.governance.backtest.plots import Plot
from tallystick.governance.backtest.state_comparison import StateComparison
from tallystick.governance.backtest.wording import (
    UNDEFINED,
    count,
    decimal,
    percent,
    points,
    sentences,
    short,
    signed,
    visible,
)

_EXTREMES = 5
"""How many of those who gain or lose most are named."""


def chapter(found: CandidateComparison, rows: int, *, drawn: bool, folded: bool) -> Markup:
    """Everything about one candidate.

    Args:
        found: the candidate against the baseline.
        rows: how many miners its table has at most.
        drawn: whether it has plots.
        folded: whether all but the words is folded away.
    """
    heading = element("h2", found.identity.name, id=f"candidate-{found.position}")
    words = element("ul", *(element("li", each) for each in sentences(found)))
    rest = joined(_details(found, rows, drawn=drawn))
    if folded:
        rest = element("details", element("summary", "Plots and tables"), rest)
    return joined([heading, words, rest])


def figure(plot: Plot) -> Markup:
    """A picture with its caption."""
    picture = element("img", src=plot.address, alt=plot.says)
    return element("figure", picture, element("figcaption", plot.says))


def _details(found: CandidateComparison, rows: int, *, drawn: bool) -> Iterator[Markup]:
    changes = found.overall.changes()
    if drawn:
        yield figure(plots.largest(found.overall))
        yield figure(plots.spread(found.overall))
    yield from _extremes(changes)
    yield from _types(found)
    yield from _flips(found, drawn=drawn)
    if found.state is not None:
        yield from _state(found.state)
    yield from _miners(changes, rows)


def _extremes(changes: list[MinerChange]) -> Iterator[Markup]:
    yield element("h3", "Who gains and who loses most")
    for what, chosen in (
        ("share", (winners, losers)),
        ("share, as a part of what a miner had", (relative_winners, relative_losers)),
    ):
        gains, losses = (each(changes, _EXTREMES) for each in chosen)
        yield element(
            "div",
            _extreme_table(f"Largest gains of {what}", gains),
            _extreme_table(f"Largest losses of {what}", losses),
            class_="pair",
        )


def _extreme_table(title: str, changes: list[MinerChange]) -> Markup:
    head = ("miner", "before", "after", "points", "relative", "rank")
    said = element("p", title if changes else f"{title}: none", class_="note")
    return element("div", said, table(head, map(_extreme, changes)) if changes else "")


def _extreme(each: MinerChange) -> Iterator[str]:
    yield f"{short(each.miner.hotkey)} ({each.miner.uid})"
    yield percent(each.share_before)
    yield percent(each.share_after)
    yield _coloured(each.share_change, points(each.share_change))
    yield _relative(each)
    yield _ranks(each)


def _types(found: CandidateComparison) -> Iterator[Markup]:
    yield element("h3", "By skill type")
    head = (
        "skill type",
        "miners",
        "records scored",
        "measure",
        "total",
        "changes hands",
        "tau-b",
        "Gini",
        "tier flips",
        "gate flips",
        "refused",
    )
    yield table(head, (_type(name, each) for name, each in found.types.items()))


def _type(name: str, found: TypeComparison) -> Iterator[str]:
    amounts, tiers = found.distribution, found.tiers
    yield name
    yield count(len(amounts.miners))
    yield _arrow(count(found.scored_before), count(found.scored_after))
    yield amounts.measure
    yield _arrow(decimal(amounts.total_before, 1), decimal(amounts.total_after, 1))
    yield percent(amounts.moved)
    yield decimal(amounts.tau)
    before, after = amounts.concentration_before, amounts.concentration_after
    yield _arrow(decimal(before.gini), decimal(after.gini))
    yield count(tiers.tier_flips) if tiers and tiers.migration else UNDEFINED
    yield count(tiers.gate_flips) if tiers else UNDEFINED
    yield count(sum(found.rejected.values()))


def _flips(found: CandidateComparison, *, drawn: bool) -> Iterator[Markup]:
    yield element("h3", "Records that flip")
    if found.flips:
        yield table(
            (
                "skill type and kind",
                "with a distance",
                "rise",
                "fall",
                "nearest",
                "mean",
                *(f"within {decimal(edge, 6).rstrip('0')}" for edge in EDGES),
            ),
            _distances(found),
        )
    else:
        yield element("p", "None.")
    picture = plots.migrations(found) if drawn else None
    if picture is not None:
        yield figure(picture)
    else:
        yield from _migrations(found)


def _distances(found: CandidateComparison) -> Iterator[Iterator[str]]:
    for name, each in found.types.items():
        for kind, far in (("tier", each.distances.tier), ("gate", each.distances.gate)):
            if far.known:
                yield _distance(f"{name}, {kind}", far)


def _distance(label: str, found: Distances) -> Iterator[str]:
    yield label
    yield count(found.known)
    yield count(found.rose)
    yield count(found.fell)
    yield decimal(found.nearest, 9)
    yield decimal(found.mean, 6)
    yield from map(count, found.within)


def _migrations(found: CandidateComparison) -> Iterator[Markup]:
    """The tables that stand in for the picture."""
    for name, each in found.types.items():
        tiers = each.tiers
        if tiers is not None and tiers.migration and tiers.compared:
            yield element("p", f"{name}: from the tier of the row to that of the column")
            yield table(("baseline", *(tiers.candidate_tiers or ())), _migration(tiers))


def _migration(found: Comparison) -> Iterator[tuple[str, ...]]:
    for level, counts in zip(found.tiers or (), found.migration or (), strict=True):
        yield (level, *map(count, counts))


def _state(found: StateComparison) -> Iterator[Markup]:
    yield element("h3", "With thresholds and reputations that follow from epoch to epoch")
    head = ("skill type", "total", "changes hands", "tau-b", "thresholds at the end", "reputation")
    yield table(head, (_state_type(name, found) for name in found.types))
    yield element("p", "Reputation: the mean of all miners at the end.", class_="note")


def _state_type(name: str, found: StateComparison) -> Iterator[str]:
    amounts = found.types[name]
    before, after = found.before.final, found.after.final
    yield name
    yield _arrow(decimal(amounts.total_before, 1), decimal(amounts.total_after, 1))
    yield percent(amounts.moved)
    yield decimal(amounts.tau)
    old, new = before.thresholds.get(name, {}), after.thresholds.get(name, {})
    names = dict.fromkeys([*old, *new])
    yield (
        "; ".join(
            f"{each} {_arrow(decimal(old.get(each), 4), decimal(new.get(each), 4))}"
            for each in names
        )
        or UNDEFINED
    )
    yield _arrow(_mean(before.reputations, name), _mean(after.reputations, name))


def _mean(reputations: Mapping[str, Mapping[str, int]], name: str) -> str:
    found = [each[name] for each in reputations.values() if name in each]
    return decimal(sum(found) // len(found)) if found else UNDEFINED


def _miners(changes: list[MinerChange], rows: int) -> Iterator[Markup]:
    """The miners whose share changes most, from the largest gain to the largest loss."""
    chosen = sorted(changes, key=lambda each: (-abs(each.share_change), each.miner.hotkey))[:rows]
    chosen.sort(key=lambda each: (-each.share_change, each.miner.hotkey))
    yield element("h3", "Every miner")
    if len(chosen) < len(changes):
        yield element(
            "p",
            f"The {count(len(chosen))} whose share changes most, of {count(len(changes))}; all of "
            "them, and by skill type, are in miners.parquet.",
            class_="note",
        )
    head = ("miner", "uid", "share before", "share after", "points", "relative", "amount", "rank")
    yield table(head, map(_miner, chosen))


def _miner(each: MinerChange) -> Iterator[str]:
    yield element("code", short(each.miner.hotkey), title=visible(each.miner.hotkey))
    yield str(each.miner.uid)
    yield percent(each.share_before, 3)
    yield percent(each.share_after, 3)
    yield _coloured(each.share_change, points(each.share_change))
    yield _relative(each)
    yield _arrow(decimal(each.before), decimal(each.after))
    yield _ranks(each)


def _relative(each: MinerChange) -> str:
    return signed(percent(each.relative, 1))


def _ranks(each: MinerChange) -> str:
    if not each.climb:
        return count(each.rank_before)
    return _arrow(count(each.rank_before), count(each.rank_after))


def _arrow(before: str, after: str) -> str:
    return before if before == after else f"{before} → {after}"


def _coloured(nano: int, text: str) -> str:
    """Blue for a gain, orange for a loss: colours that the colour-blind tell apart."""
    return element("span", text, class_="gain" if nano > 0 else "loss") if nano else text
