"""The plots of a report: Vega-Lite made with altair, drawn as SVG by vl-convert, without a network.

Both come with the extra ``report``; without it this module cannot be imported. Plots are for the
eye: they take doubles, which nothing else of a back-test does. A picture goes into the page as
data, so that text in it can never act.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise, repeat
from typing import Any

import altair as alt
import attrs
import vl_convert

from tallystick.governance.backtest.comparison import CandidateComparison
from tallystick.governance.backtest.comparison_model import Comparison
from tallystick.governance.backtest.distribution import Distribution, MinerChange, published_share
from tallystick.io.text import short, visible
from tallystick.numbers.nano import NANO
from tallystick.numbers.text import UNDEFINED, percent

BEFORE, AFTER = "#9aa5b1", "#1f6feb"
LARGEST = 20
"""How many miners are drawn."""
STEPS = (-100, -50, -25, -10, -5, -1, 1, 5, 10, 25, 50, 100)
"""The classes of relative change, in per cent."""
_WIDE = 36


# the font of the browser may be wider than the one that the picture was laid out with
_LOOK = {
    "padding": {"left": 40, "right": 40, "top": 5, "bottom": 5},
    "background": "white",
    "config": {
        "font": "Arial, Helvetica, sans-serif",
        "axis": {
            # labels come short: the drawer would cut one inside a character, and fail
            "labelLimit": 0,
            "labelFontSize": 11,
            "titleFontWeight": "normal",
            "titleFontSize": 12,
        },
        "axisY": {"titlePadding": 12},
        "view": {"stroke": None},
    },
}


@attrs.frozen
class Plot:
    """One picture.

    Attributes:
        svg: the picture.
        says: what it shows, for who cannot see it.
    """

    svg: str = attrs.field(repr=False)
    says: str

    @property
    def address(self) -> str:
        """The picture as a ``data:`` address."""
        return "data:image/svg+xml;base64," + b64encode(self.svg.encode()).decode()


def largest(found: Distribution) -> Plot:
    """The shares before and after of the largest miners."""
    chosen = sorted(
        found.changes(), key=lambda e: (-max(e.share_before, e.share_after), e.miner.hotkey)
    )[:LARGEST]
    rows = [
        {"miner": _label(n, each), "share": share / NANO, "rule set": name}
        for n, each in enumerate(chosen, 1)
        for name, share in (("baseline", each.share_before), ("candidate", each.share_after))
    ]
    base = alt.Chart(_data(rows)).encode(
        y=alt.Y("miner:N", sort=None, title=None), x=_share_axis("share of everything")
    )
    lines = base.mark_line(color=BEFORE).encode(detail="miner:N")
    dots = base.mark_circle(size=70, opacity=1).encode(color=_sides())
    return _plot(
        (lines + dots).properties(width=520), f"Shares of the {len(chosen)} largest miners"
    )


def spread(found: Distribution) -> Plot:
    """How many miners gain or lose how much of what they had."""
    names = _classes()
    many = dict.fromkeys(names, 0)
    for each in found.changes():
        many[_class_of(each, names)] += 1
    rows = [{"change": name, "miners": number} for name, number in many.items()]
    base = alt.Chart(_data(rows)).encode(
        y=alt.Y("change:N", sort=None, title="change of the share"),
        x=alt.X("miners:Q", title="miners", axis=alt.Axis(tickMinStep=1, format="d")),
    )
    bars = base.mark_bar(color=AFTER)
    labels = base.mark_text(dx=4, align="left").encode(text="miners:Q")
    return _plot(
        (bars + labels).properties(width=520),
        "How many miners gain or lose how much, as a part of the share that they had",
    )


def migrations(found: Mapping[str, Comparison]) -> Plot:
    """Where the records of each tier go, by skill type; of each that has tiers."""
    charts = [_heatmap(name, each) for name, each in found.items()]
    grid = alt.concat(*charts, columns=2).resolve_scale(color="shared")
    return _plot(grid, "Where the records of each tier go")


def across(found: Sequence[CandidateComparison], labels: Sequence[str]) -> Plot:
    """The candidates beside each other: what changes hands, the order, the concentration."""
    swept = _swept(found)
    rows = [
        {"candidate": _cut(number, label), "value": value, **_metrics(each)}
        for number, (label, each, value) in enumerate(
            zip(labels, found, swept or repeat(None), strict=False), 1
        )
    ]
    data = _data(rows)
    path = found[0].identity.changes[0].path if swept else ""
    draw: Callable[[str], alt.Chart] = (
        (lambda name: _curve(data, name, path)) if swept else (lambda name: _bars(data, name))
    )
    return _plot(alt.concat(*map(draw, _METRICS), columns=2), "The candidates beside each other")


_METRICS = {
    "share that changes hands": ".1~%",
    "Kendall's tau-b": ".3~r",
    "Gini": ".3~r",
    "HHI": ".3~r",
}
"""What the candidates are compared by, and how it is written."""


def _metrics(found: CandidateComparison) -> Mapping[str, float | None]:
    overall = found.overall
    after = overall.concentration_after
    values = (overall.moved, overall.tau, after.gini, after.hhi)
    return {
        name: None if value is None else value / NANO
        for name, value in zip(_METRICS, values, strict=True)
    }


def _curve(data: alt.Data, metric: str, path: str) -> alt.Chart:
    chart: alt.Chart = (
        alt.Chart(data)
        .mark_line(point=True, color=AFTER)
        .encode(
            x=alt.X("value:Q", title=path, scale=alt.Scale(zero=False)),
            y=alt.Y(_field(metric), scale=alt.Scale(zero=False), **_axis_of(metric)),
        )
        .properties(width=300, height=180)
    )
    return chart


def _bars(data: alt.Data, metric: str) -> alt.Chart:
    chart: alt.Chart = (
        alt.Chart(data)
        .mark_bar(color=AFTER)
        .encode(
            y=alt.Y("candidate:N", sort=None, title=None),
            x=alt.X(_field(metric), **_axis_of(metric)),
        )
        .properties(width=240)
    )
    return chart


def _axis_of(metric: str) -> dict[str, Any]:
    return {"title": metric, "axis": alt.Axis(format=_METRICS[metric], tickCount=4)}


def _field(name: str) -> str:
    """A field of a plot: the name may hold what the shorthand would read."""
    return name.replace("'", "\\'") + ":Q"


def _swept(found: Sequence[CandidateComparison]) -> list[float] | None:
    """The values of one swept number; None when the candidates differ in something else."""
    paths = {tuple(change.path for change in each.identity.changes) for each in found}
    if len(found) < 2 or len(paths) != 1 or len(next(iter(paths))) != 1:
        return None
    return [float(each.identity.changes[0].value) for each in found]


def _heatmap(name: str, found: Comparison) -> alt.LayerChart:
    rows = [
        _cell(level, other, number, sum(counts))
        for level, counts in zip(found.tiers or (), found.migration or (), strict=True)
        for other, number in zip(found.candidate_tiers or (), counts, strict=True)
    ]
    base = alt.Chart(_data(rows), title=f"{name} ({found.compared:,} records)").encode(
        x=alt.X("candidate:N", sort=None, axis=alt.Axis(labelAngle=-20)),
        y=alt.Y("baseline:N", sort=list(reversed(found.tiers or ()))),
    )
    tiles = base.mark_rect(stroke="white").encode(
        color=alt.Color(
            "share:Q",
            title="of the row",
            scale=alt.Scale(scheme="blues", domain=[0, 1]),
            legend=alt.Legend(format="%"),
        )
    )
    texts = base.mark_text(lineBreak="\n", lineHeight=12, dy=-4).encode(
        text="text:N",
        color=alt.condition("datum.share > 0.6", alt.value("white"), alt.value("black")),
    )
    chart: alt.LayerChart = (tiles + texts).properties(width=270, height=150)
    return chart


def _cell(level: str, other: str, number: int, whole: int) -> Mapping[str, Any]:
    share = published_share(number, whole)
    text = f"{percent(share, 1)}\n{number:,}" if number else UNDEFINED
    return {"baseline": level, "candidate": other, "share": share / NANO, "text": text}


def _classes() -> list[str]:
    edges = [f"{step:+d} %".replace("-", "−") for step in STEPS]
    between = [f"{low} to {high}" for low, high in pairwise(edges)]
    return [*between, f"above {edges[-1]}", "had none"]


def _class_of(change: MinerChange, names: Sequence[str]) -> str:
    """A change on an edge belongs to the class that is nearer to none."""
    relative = change.relative
    if relative is None:
        return names[-1] if change.share_after else names[len(STEPS) // 2 - 1]
    steps = [NANO // 100 * step for step in STEPS]
    above = sum(relative > edge if edge > 0 else relative >= edge for edge in steps)
    return names[max(above, 1) - 1]


def _label(number: int, change: MinerChange) -> str:
    return f"{number}. {short(change.miner.hotkey)}"


def _cut(number: int, label: str) -> str:
    """The label of a candidate; what is too long keeps its ends, and a number that tells it."""
    text = visible(label)
    return text if len(text) <= _WIDE else f"{number}. {text[:12]}…{text[-18:]}"


def _share_axis(title: str) -> alt.X:
    return alt.X("share:Q", title=title, axis=alt.Axis(format="~%", tickCount=8))


def _sides() -> alt.Color:
    scale = alt.Scale(domain=["baseline", "candidate"], range=[BEFORE, AFTER])
    return alt.Color("rule set:N", scale=scale, legend=alt.Legend(title=None, orient="top"))


def _data(rows: Sequence[Mapping[str, Any]]) -> alt.Data:
    return alt.Data(values=list(rows))  # type: ignore[no-untyped-call]  # altair types it half


def _plot(chart: alt.TopLevelMixin, says: str) -> Plot:
    # nothing may be fetched, whatever the picture says
    svg = vl_convert.vegalite_to_svg(chart.to_dict() | _LOOK, allowed_base_urls=[])
    return Plot(_renumbered(svg), says)


def _renumbered(svg: str) -> str:
    """The picture with its identifiers counted from 0: the drawer counts on over all pictures."""
    found = dict.fromkeys(re.findall(r' id="([a-z_]+\d+)"', svg))
    new = {name: f"id{number}" for number, name in enumerate(found)}
    return re.sub(
        r'(?<= id=")[a-z_]+\d+(?=")|(?<=url\(#)[a-z_]+\d+(?=\))',
        lambda match: new.get(match[0], match[0]),
        svg,
    )
