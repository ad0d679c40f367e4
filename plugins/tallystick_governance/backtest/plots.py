"""The plots of a report: Vega-Lite made with altair, drawn as SVG by vl-convert, without a network.

Both come with the extra ``report``; without it this module cannot be imported. Plots are for the
eye: they take doubles, which nothing else of a back-test does. A picture goes into the page as
data, so that text in it can never act.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from itertools import pairwise, repeat
from typing import Any

import altair as alt
import attrs
import vl_convert

from tallystick.io.text import short, visible
from tallystick.numbers.nano import NANO
from tallystick_governance.backtest.comparison import CandidateComparison
from tallystick_governance.backtest.distribution import (
    Concentration,
    Distribution,
    MinerChange,
    losers,
    winners,
)
from tallystick_governance.backtest.statistics import PERCENT, Uncertainty
from tallystick_governance.simulation.study import TypeStudy
from tallystick_simulation.mixture import Course

INK, SOFT, LINE = "#1c2430", "#566170", "#d9dee5"
GAIN, LOSS, SAME = "#1a5fb4", "#c2570c", "#9aa5b1"
DARK = {
    INK: "#e4e8ee",
    SOFT: "#a3adba",
    LINE: "#333b46",
    GAIN: "#6ea8f0",
    LOSS: "#f0985a",
    SAME: "#6b7684",
}
"""The colour of each on a dark page."""
LARGEST = 12
"""Maximum number of gains, and of losses, in a plot."""
STEPS = (-100, -50, -25, -10, -5, -1, 1, 5, 10, 25, 50, 100)
"""The classes of relative change, in per cent."""
_WIDE = 26
_SIDES = alt.Scale(domain=["gain", "none", "loss"], range=[GAIN, SAME, LOSS])
_KINDS = alt.Scale(domain=["candidate", "baseline"], range=[GAIN, SAME])
_IN_TABLES = "The tables below have the numbers"
_LOOK = {
    # as wide as a telephone, so that nothing is made smaller there
    "width": 340,
    "autosize": {"type": "fit-x", "contains": "padding"},
    # the font of the browser may be wider than the one that the picture was laid out with
    "padding": {"left": 22, "right": 14, "top": 5, "bottom": 5},
    "background": None,
    "config": {
        "font": "Arial, Helvetica, sans-serif",
        "axis": {
            # labels come short: the drawer would cut one inside a character, and fail
            "labelLimit": 0,
            "labelFontSize": 11,
            "labelColor": INK,
            "titleColor": SOFT,
            "titleFontWeight": "normal",
            "titleFontSize": 12,
            "gridColor": LINE,
            "domainColor": SOFT,
            "tickColor": SOFT,
        },
        "view": {"stroke": None},
    },
}


@attrs.frozen
class Plot:
    """One picture.

    Attributes:
        svg: the picture.
        says: what it shows.
        where: more about it, for who cannot see it.
    """

    svg: str = attrs.field(repr=False)
    says: str
    where: str

    @property
    def address(self) -> str:
        """The picture as a ``data:`` address."""
        return "data:image/svg+xml;base64," + b64encode(self.svg.encode()).decode()


def change(overall: Distribution, uncertainty: Uncertainty | None) -> Plot:
    """Plot the shares that change most, from the largest gain to the largest loss."""
    changes = overall.changes()
    chosen = [*winners(changes, LARGEST), *reversed(losers(changes, LARGEST))]
    rows = list[dict[str, Any]]()
    for n, miner in enumerate(chosen, 1):
        rows.append(
            {
                "miner": f"{n}. {short(miner.miner.hotkey)}",
                "points": miner.share_change * 100 / NANO,
                "side": "gain" if miner.share_change > 0 else "loss",
            }
        )
        if uncertainty is not None:
            interval = uncertainty.shares[miner.miner.hotkey]
            rows[-1] |= {"low": interval.low * 100 / NANO, "high": interval.high * 100 / NANO}
    base = alt.Chart(_data(rows)).encode(y=alt.Y("miner:N", sort=None, title=None))
    bars = base.mark_bar(height=9).encode(
        x=alt.X("points:Q", title="change of the share, in points", axis=alt.Axis(tickCount=5)),
        color=alt.Color("side:N", scale=_SIDES, legend=None),
    )
    title = f"The {len(chosen)} shares that change most"
    if not uncertainty:
        return _plot(bars.properties(height=alt.Step(15)), title)
    whiskers = base.mark_rule(color=INK).encode(x="low:Q", x2="high:Q")
    return _plot(
        (bars + whiskers).properties(height=alt.Step(15)),
        f"{title}, with intervals of {PERCENT}\u00a0%",
    )


def spread(overall: Distribution) -> Plot:
    """Plot the number of miners by class of relative change of their share."""
    names = _classes()
    many = dict.fromkeys(names, 0)
    for miner in overall.changes():
        many[_class_of(miner, names)] += 1
    unchanged = len(STEPS) // 2
    rows = [
        {
            "change": name,
            "miners": number,
            "side": "none"
            if position == unchanged - 1
            else "loss"
            if position < unchanged
            else "gain",
        }
        for position, (name, number) in enumerate(many.items())
    ]
    base = alt.Chart(_data(rows)).encode(
        y=alt.Y("change:N", sort=None, title=None),
        x=alt.X("miners:Q", title="miners", axis=alt.Axis(tickMinStep=1, format="d", tickCount=5)),
    )
    bars = base.mark_bar(height=11).encode(color=alt.Color("side:N", scale=_SIDES, legend=None))
    labels = base.mark_text(dx=4, align="left", color=INK).encode(text="miners:Q")
    return _plot(
        (bars + labels).properties(height=alt.Step(18)),
        "How many miners gain or lose how much of the share that they had",
    )


def across(candidates: Sequence[CandidateComparison], labels: Sequence[str]) -> list[Plot]:
    """Plot the candidates beside the baseline, a picture for each metric."""
    swept = _swept(candidates)
    rows = [
        {
            "candidate": _cut(number, label),
            "value": value,
            "is": "candidate",
            **_metrics(overall.moved, overall.tau, overall.concentration_after),
        }
        for number, (label, overall, value) in enumerate(
            zip(
                labels,
                (candidate.overall for candidate in candidates),
                swept or repeat(None),
                strict=False,
            ),
            1,
        )
    ]
    first = candidates[0]
    own = first.identity.changes[0].baseline if swept else None
    baseline = {
        "candidate": "the baseline",
        "value": None if own is None else float(own),
        "is": "baseline",
        # it differs from itself in nothing
        **_metrics(0, NANO, first.overall.concentration_before),
    }
    if swept is None:
        return [_bars([baseline, *rows], name) for name in METRICS]
    return [_curve(rows, baseline, name, first.identity.changes[0].path) for name in METRICS]


METRICS = {
    "share that changes hands": ".1~%",
    "Kendall's tau-b": ".3~r",
    "Gini": ".3~r",
    "HHI": ".3~r",
}
"""Metrics by which candidates are compared, and the format of each."""


def _metrics(
    moved: int | None, tau: int | None, concentration: Concentration
) -> Mapping[str, float | None]:
    values = (moved, tau, concentration.gini, concentration.hhi)
    return {
        name: None if value is None else value / NANO
        for name, value in zip(METRICS, values, strict=True)
    }


def _curve(
    rows: Sequence[Mapping[str, Any]], baseline: Mapping[str, Any], metric: str, path: str
) -> Plot:
    """Plot a metric over the values of a sweep; a dashed line and a square are the baseline."""
    y = alt.Y(_field(metric), scale=alt.Scale(zero=False), **_axis_of(metric))
    # the end of a path tells it from others
    tail = path if len(path) <= _WIDE else f"…{path[1 - _WIDE :]}"
    x = alt.X("value:Q", title=tail, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5))
    own = alt.Chart(_data([baseline]))
    # the baseline is a point of the sweep, though no candidate of its own
    line = [*rows, baseline] if baseline["value"] is not None else rows
    layers = [
        own.mark_rule(color=SOFT, strokeDash=[4, 3]).encode(y=y),
        alt.Chart(_data(line)).mark_line(color=GAIN).encode(x=x, y=y),
        alt.Chart(_data(rows)).mark_circle(color=GAIN, size=45, opacity=1).encode(x=x, y=y),
    ]
    if baseline["value"] is not None:
        layers.append(own.mark_square(color=LOSS, size=90, opacity=1).encode(x=x, y=y))
    return _plot(alt.layer(*layers).properties(height=170), f"{metric}; dashed: the baseline", path)


def _bars(rows: Sequence[Mapping[str, Any]], metric: str) -> Plot:
    """Plot a metric of every candidate, the largest first; another colour is the baseline."""
    defined = [row for row in rows if row[metric] is not None]
    ordered = sorted(defined, key=lambda row: (-row[metric], row["candidate"]))
    bars = (
        alt.Chart(_data(ordered))
        .mark_bar(height=12)
        .encode(
            y=alt.Y("candidate:N", sort=None, title=None),
            x=alt.X(_field(metric), **_axis_of(metric)),
            color=alt.Color("is:N", scale=_KINDS, legend=None),
        )
        .properties(height=alt.Step(20))
    )
    return _plot(bars, f"{metric}, from the largest; grey: the baseline")


def _axis_of(metric: str) -> dict[str, Any]:
    return {"title": metric, "axis": alt.Axis(format=METRICS[metric], tickCount=4)}


def _field(name: str) -> str:
    """Escape the name of a field, which may hold characters of the shorthand."""
    return name.replace("'", "\\'") + ":Q"


def _swept(candidates: Sequence[CandidateComparison]) -> list[float] | None:
    """Return the values of one swept number; None when candidates differ in something else."""
    paths = {
        tuple(change.path for change in candidate.identity.changes) for candidate in candidates
    }
    if len(candidates) < 2 or len(paths) != 1 or len(next(iter(paths))) != 1:
        return None
    return [float(candidate.identity.changes[0].value) for candidate in candidates]


def gains(after: TypeStudy, before: TypeStudy | None) -> Plot:
    """Plot what each strategy gains over honest work, beside the rules in force."""
    sides = [("baseline", before), ("candidate", after)]
    rows = [
        {"strategy": response.strategy, "gain": response.gain / NANO, "rules": side}
        for side, study in sides
        if study is not None
        for response in study.responses
        if response.gain is not None
    ]
    chart = (
        alt.Chart(_data(rows))
        .mark_bar()
        .encode(
            y=alt.Y("strategy:N", sort="-x", title=None),
            x=alt.X("gain:Q", title="gain, in the pay of honest work", axis=alt.Axis(tickCount=5)),
            yOffset=alt.YOffset("rules:N", sort=None),
            color=alt.Color("rules:N", scale=_KINDS, title=None, legend=_TOP),
        )
    )
    return _plot(chart, f"What each strategy gains over honest work in {after.skill_type}")


def weight_concentration(after: TypeStudy, before: TypeStudy | None) -> Plot:
    """Plot the concentration of weight among honest miners, epoch by epoch."""
    sides = [("baseline", before), ("candidate", after)]
    rows = [
        {"epoch": epoch, "hhi": share / NANO, "rules": side}
        for side, study in sides
        if study is not None
        for epoch, share in enumerate(study.newcomer.concentration)
    ]
    chart = (
        alt.Chart(_data(rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("epoch:Q", title="epoch", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("hhi:Q", title="sum of squared shares"),
            color=alt.Color("rules:N", scale=_KINDS, title=None, legend=_TOP),
        )
    )
    return _plot(chart, f"How concentrated weight is among honest miners of {after.skill_type}")


def mixtures(course: Course) -> Plot:
    """Plot how many miners have each strategy, step by step."""
    rows = [
        {"step": step, "strategy": name, "miners": many}
        for step, mixture in enumerate(course.mixtures)
        for name, many in mixture.counts.items()
    ]
    chart = (
        alt.Chart(_data(rows))
        .mark_area()
        .encode(
            x=alt.X("step:Q", title="step", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("miners:Q", title="miners"),
            color=alt.Color("strategy:N", title=None, legend=_TOP),
        )
    )
    return _plot(chart, f"What miners of {course.skill_type} turn to where they follow pay")


_TOP = alt.Legend(orient="top", labelLimit=0)


def _classes() -> list[str]:
    edges = [f"{step:+d} %".replace("-", "−") for step in STEPS]
    between = [f"{low} to {high}" for low, high in pairwise(edges)]
    return [*between, f"above {edges[-1]}", "had none"]


def _class_of(change: MinerChange, names: Sequence[str]) -> str:
    """Return the class of a change; one on an edge is in the class nearer to no change."""
    relative = change.relative
    if relative is None:
        return names[-1] if change.share_after else names[len(STEPS) // 2 - 1]
    steps = [NANO // 100 * step for step in STEPS]
    above = sum(relative > edge if edge > 0 else relative >= edge for edge in steps)
    return names[max(above, 1) - 1]


def _cut(number: int, label: str) -> str:
    """Shorten the label of a candidate: a long one keeps its ends, after its number."""
    text = visible(label)
    return text if len(text) <= _WIDE else f"{number}. {text[:9]}…{text[-13:]}"


def _data(rows: Sequence[Mapping[str, Any]]) -> alt.Data:
    return alt.Data(values=list(rows))  # type: ignore[no-untyped-call]  # altair types it half


def _plot(chart: alt.Chart | alt.LayerChart | alt.FacetChart, says: str, where: str = "") -> Plot:
    # nothing may be fetched, whatever the picture says
    described = chart.properties(width="container").to_dict() | _LOOK
    svg = vl_convert.vegalite_to_svg(described, allowed_base_urls=[])
    return Plot(_darkened(_renumbered(svg)), says, where or _IN_TABLES)


def _darkened(svg: str) -> str:
    """Add other colours for a reader who prefers dark pages."""
    rules = "".join(
        f'[{kind}="{light}"]{{{kind}:{dark}}}'
        for light, dark in DARK.items()
        for kind in ("fill", "stroke")
    )
    style = f"<style>@media (prefers-color-scheme: dark) {{{rules}}}</style>"
    head, end, rest = svg.partition(">")
    return f"{head}{end}{style}{rest}"


def _renumbered(svg: str) -> str:
    """Count the identifiers from 0: the drawer counts on over all pictures."""
    identifiers = dict.fromkeys(re.findall(r' id="([a-z_]+\d+)"', svg))
    new = {name: f"id{number}" for number, name in enumerate(identifiers)}
    return re.sub(
        r'(?<= id=")[a-z_]+\d+(?=")|(?<=url\(#)[a-z_]+\d+(?=\))',
        lambda match: new.get(match[0], match[0]),
        svg,
    )
