"""The pages about the network: leaderboards, epochs with their roots, validators."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import zip_longest

from starlette.responses import Response

from tallystick.numbers.nano import to_text
from tallystick_service.api.epochs import (
    checkpoint_of,
    epoch_row,
    epoch_view,
    weights_view,
)
from tallystick_service.charts import Chart, Series, chart
from tallystick_service.route import Question, Route
from tallystick_service.shown import board_of, closings_of, public_boards, skill_types
from tallystick_service.tables import csv_answer
from tallystick_service.weights import newest_epoch, weight_table

_SHOWN = 10
"""Maximum number of miners in a table of the page; the miners' page and the CSV have all."""
_EPOCHS = 24
"""Maximum number of epochs in the table of the page; its CSV has all that are kept."""
_DRAWN = 512
"""Maximum number of epochs in a chart and in a CSV."""

Thresholds = Mapping[str, Mapping[str, int]]


def thresholds_by_epoch(question: Question) -> list[tuple[int, Thresholds]]:
    """Return the tracked thresholds that each of the newest epochs began with, in nano."""
    queries, closings = question.queries, closings_of(question)

    def of(number: int) -> Thresholds:
        state = queries.pinned(number)
        assert state is not None  # noqa: S101  # the epoch has begun
        return {name: dict(own) for name, own in state.thresholds.items()}

    def at(number: int) -> Thresholds:
        return question.site.remembered(
            ("thresholds", number, closings[number]), lambda: of(number)
        )

    opened = queries.state.epoch
    return [(number, at(number)) for number in range(max(0, opened + 1 - _DRAWN), opened + 1)]


def threshold_charts(history: list[tuple[int, Thresholds]]) -> dict[str, Chart]:
    """Return a chart of the tracked thresholds of each skill type where some of them move."""
    charts: dict[str, Chart] = {}
    names = history[-1][1] if history else {}
    for skill_type, tracked in names.items():
        series = []
        for name, kind in zip(sorted(tracked), ("series", "second"), strict=False):
            values = [
                (n, own[skill_type][name]) for n, own in history if name in own.get(skill_type, {})
            ]
            if len({value for _, value in values}) > 1:
                series.append(Series(name, values, kind))
        if series:
            ends = ", ".join(
                f"{one.name} from {to_text(one.values[0][1])} to {to_text(one.values[-1][1])}"
                for one in series
            )
            title = f"{', '.join(one.name for one in series)} by epoch"
            drawn = chart(title, f"Tracked thresholds: {ends}.", series)
            if drawn is not None:
                charts[skill_type] = drawn
    return charts


@partial(Route, "/network", "board")
def _network(question: Question) -> Response:
    """Weights, leaderboards, validators, epochs and thresholds."""
    opened = question.queries.state.epoch
    begun = range(max(0, opened + 1 - _EPOCHS), opened + 1)
    epochs = [epoch_row(question, number) for number in reversed(begun)]
    history, boards = thresholds_by_epoch(question), public_boards(question)
    return question.page(
        "network.html",
        info=question.queries.info(),
        boards={name: boards.get(name) for name in skill_types(question)},
        shown=_SHOWN,
        epochs=epochs,
        charts=threshold_charts(history),
        history=list(reversed(history))[:_EPOCHS],
        weighed=weight_table(question),
        checkpoint=checkpoint_of(question),
    )


@partial(Route, "/network/epochs/{epoch}", "epochs")
def _epoch(question: Question) -> Response:
    """One epoch: digests, thresholds, roots, and how to prove them."""
    view = epoch_view(question, question.number("epoch") or 0)
    return question.page("epoch.html", epoch=view, checkpoint=checkpoint_of(question))


@partial(Route, "/network/validators", "service", reads=False)
async def _validators(question: Question) -> Response:
    """Which validators agree, and the health of this one."""
    question = await question.versioned()
    observed = question.site.observations.observed()
    health = question.site.health().seen_by(question.viewer)
    return question.page("validators.html", observed=observed, health=health)


@partial(Route, "/network/leaderboards/{skill_type}.csv", "board")
def _board_csv(question: Question) -> Response:
    """The leaderboard of a skill type as CSV."""
    skill_type = question.text("skill_type")
    _, board, _ = board_of(question, skill_type)
    rows = [(s.rank, s.hotkey, s.uid, str(s.reputation)) for s in board]
    return csv_answer("leaderboard.csv", ("rank", "hotkey", "uid", "reputation"), rows)


@partial(Route, "/network/epochs.csv", "epochs")
def _epochs_csv(question: Question) -> Response:
    """The epochs as CSV."""
    opened = question.queries.state.epoch
    views_of = (epoch_row(question, n) for n in range(max(0, opened + 1 - _DRAWN), opened + 1))
    rows = [(v["epoch"], v["open"], v["at"], v["events"], v["snapshot"]) for v in views_of]
    return csv_answer("epochs.csv", ("epoch", "open", "at", "events", "snapshot"), rows)


@partial(Route, "/network/thresholds.csv", "epochs")
def _thresholds_csv(question: Question) -> Response:
    """The tracked thresholds of each epoch as CSV."""
    rows = [
        (number, skill_type, name, nano)
        for number, own in thresholds_by_epoch(question)
        for skill_type, tracked in sorted(own.items())
        for name, nano in sorted(tracked.items())
    ]
    heads = ("epoch", "skill_type", "threshold", "value")
    return csv_answer("thresholds.csv", heads, rows, nano=(3,))


@partial(Route, "/network/weights.csv", "weights")
def _weights_csv(question: Question) -> Response:
    """The newest weights that are seen, as CSV."""
    number = newest_epoch(question)
    rows: list[tuple[object, ...]] = []
    if number is not None:
        view = weights_view(question, number)
        lines = {"": view} if "uids" in view else view["lines"]
        for line, own in lines.items():
            # without a row the column of its numbers is empty
            pairs = zip_longest(own["uids"], own["weights"], own["uint16"], fillvalue="")
            rows += [(number, line, uid, weight, uint16) for uid, weight, uint16 in pairs]
    return csv_answer("weights.csv", ("epoch", "line", "uid", "weight", "uint16"), rows)
