"""Charts: lines over epochs as geometry, which a template draws as SVG.

Positions are whole tenths of a pixel in a box of fixed size that pages scale. A picture shows what
the table beneath it says, so doubles are good enough for it; they decide nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from tallystick.numbers.nano import NANO, to_fraction
from tallystick.numbers.text import fraction

WIDTH, HEIGHT = 560, 200
"""Size of the box, in pixels before scaling."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 12, 14, 32
"""Room around the plot: numbers of the axes stand there."""
_STEPS = (1, 2, 5)
_TICKS = 4
"""Number of grid lines that are aimed at."""
_DOTS = 40
"""Maximum number of points that get a dot of their own."""


@attrs.frozen
class Tick:
    """A grid line with its number.

    Attributes:
        at: its position in pixels.
        text: the number.
    """

    at: float
    text: str


@attrs.frozen
class Mark:
    """A line at one value, such as the minimum of a filter.

    Attributes:
        at: its position in pixels.
        text: its name and value.
        above: whether the name stands above the line.
    """

    at: float
    text: str
    above: bool


@attrs.frozen
class Line:
    """A line of values over epochs.

    Attributes:
        name: what it shows.
        kind: the class of its look.
        segments: the points of each unbroken part, as SVG has them.
        dots: the position of each point, where there are few.
        last: the position of the newest point.
    """

    name: str
    kind: str
    segments: tuple[str, ...]
    dots: tuple[tuple[float, float], ...]
    last: tuple[float, float] | None


@attrs.frozen
class Chart:
    """A chart of lines over epochs.

    Attributes:
        title: what it shows.
        description: the same in a sentence, for those who do not see it.
        lines: the lines.
        rows: grid lines of values.
        columns: grid lines of epochs.
        marks: lines at one value.
    """

    title: str
    description: str
    lines: tuple[Line, ...]
    rows: tuple[Tick, ...]
    columns: tuple[Tick, ...]
    marks: tuple[Mark, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    top: int = _TOP
    bottom: int = HEIGHT - _BOTTOM


@attrs.frozen
class Series:
    """Values by epoch.

    Attributes:
        name: what they are.
        values: by epoch, in nano.
        kind: the class of its look.
    """

    name: str
    values: Sequence[tuple[int, int]]
    kind: str = "series"


def chart(
    title: str, description: str, series: Sequence[Series], marks: Sequence[tuple[str, int]] = ()
) -> Chart | None:
    """Return the chart of some series; None where fewer than two epochs have a value.

    Args:
        title: what it shows.
        description: the same in a sentence.
        series: the lines.
        marks: the name and the value in nano of lines across.
    """
    epochs = sorted({epoch for line in series for epoch, _ in line.values})
    if len(epochs) < 2:
        return None
    values = [value for line in series for _, value in line.values]
    frame = _Frame.around(epochs[0], epochs[-1], [*values, *_near(values, marks)])
    return Chart(
        title,
        description,
        tuple(_line(one, frame) for one in series),
        tuple(Tick(frame.y(value), _text(value)) for value in frame.rows),
        tuple(Tick(frame.x(epoch), str(epoch)) for epoch in frame.columns),
        tuple(
            Mark(frame.y(value), f"{name} {_text(value)}", frame.y(value) > _TOP + 16)
            for name, value in marks
            if frame.low <= value <= frame.high
        ),
    )


def _near(values: Sequence[int], marks: Sequence[tuple[str, int]]) -> Iterator[int]:
    """Yield the marks that are near the values: a far one would flatten the lines."""
    low, high = min(values), max(values)
    span = high - low
    yield from (value for _, value in marks if low - span <= value <= high + span)


def _text(nano: int) -> str:
    return fraction(to_fraction(nano))


@attrs.frozen
class _Frame:
    """The ranges of a plot: epochs from left to right, values from below."""

    first: int
    last: int
    low: int
    high: int
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    @classmethod
    def around(cls, first: int, last: int, values: Sequence[int]) -> _Frame:
        """Return a frame that has all values, and ends at grid lines."""
        step = _step(max(values) - min(values), NANO // 1000)
        low, high = min(values) // step * step, -(-max(values) // step) * step
        if low == high:
            low, high = low - step, high + step
        wide = _step(last - first, 1)
        return cls(
            first,
            last,
            low,
            high,
            tuple(range(low, high + 1, step)),
            tuple(range(-(-first // wide) * wide, last + 1, wide)),
        )

    def x(self, epoch: int) -> float:
        """Return the position of an epoch."""
        width = WIDTH - _LEFT - _RIGHT
        return round(_LEFT + width * (epoch - self.first) / (self.last - self.first), 1)

    def y(self, value: int) -> float:
        """Return the position of a value."""
        height = HEIGHT - _TOP - _BOTTOM
        return round(_TOP + height * (self.high - value) / (self.high - self.low), 1)


def _step(span: int, least: int) -> int:
    """Return a round number of which a few make up a span."""
    power = least
    while True:
        for step in _STEPS:
            if step * power * _TICKS >= span:
                return step * power
        power *= 10


def _line(series: Series, frame: _Frame) -> Line:
    parts = [[(frame.x(e), frame.y(v)) for e, v in part] for part in _unbroken(series.values)]
    points = [point for part in parts for point in part]
    return Line(
        series.name,
        series.kind,
        tuple(" ".join(f"{x},{y}" for x, y in part) for part in parts if len(part) > 1),
        tuple(points) if len(points) <= _DOTS else tuple(p[0] for p in parts if len(p) == 1),
        points[-1] if points else None,
    )


def _unbroken(values: Sequence[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """Yield the runs of values of consecutive epochs."""
    run: list[tuple[int, int]] = []
    for epoch, value in sorted(values):
        if run and epoch != run[-1][0] + 1:
            yield run
            run = []
        run.append((epoch, value))
    if run:
        yield run
