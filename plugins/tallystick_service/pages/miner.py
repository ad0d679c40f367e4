"""The page of one miner: what it is paid, the steps that lead there, and where it stands."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial

import attrs
from starlette.responses import Response

from tallystick.numbers.nano import from_decimal, to_text
from tallystick_service.access import condition, own_values
from tallystick_service.charts import Chart, Series, chart
from tallystick_service.proof import challenge_of, is_key
from tallystick_service.route import Question, Route
from tallystick_service.shown import (
    board,
    has_board,
    history_of,
    public_boards,
    sees_closed,
    unknown_miner,
)
from tallystick_service.standing import (
    Pay,
    TypeStanding,
    pays,
    public_standing,
    type_standing,
)
from tallystick_service.tables import csv_answer
from tallystick_service.weights import (
    EpochWeights,
    newest_epoch,
    seen_miners,
    weighed_of,
    weight_history,
    weights_of,
)
from tallystick_state.trust.keys import KEY_TYPES

_ROWS = 128
"""Maximum number of epochs in a table of reputations of the page; its CSV has all."""
_EPOCHS = 24
"""Maximum number of epochs over which the page shows weights."""

History = list[tuple[int, dict[str, Decimal]]]
"""Reputations of a miner by skill type, by epoch."""


@attrs.frozen
class WeightHistory:
    """The weight of a miner in a line over epochs.

    Attributes:
        line: its name; empty of a weight that is that of all.
        values: epochs with the weight in nano, the newest first; None without one.
        chart: of the weights; None of fewer than two epochs.
    """

    line: str
    values: tuple[tuple[int, int | None], ...]
    chart: Chart | None


@attrs.frozen
class MinerPage:
    """A miner as somebody sees it.

    Attributes:
        hotkey: who it is.
        uid: its slot; None without one.
        types: its standing in each skill type of its records.
        dispatched: in how many rounds it was dispatched, in words; empty where that is not seen.
        pays: what it is paid, by line; empty where that is not seen.
        weights: its weights by line over the epochs that the asker sees.
        is_public: whether it is what everyone sees.
    """

    hotkey: str
    uid: int | None
    types: tuple[TypeStanding, ...]
    dispatched: str
    pays: tuple[Pay, ...]
    weights: tuple[WeightHistory, ...]
    is_public: bool


def miner_view(question: Question, hotkey: str) -> MinerPage:
    """Return a miner as the asker of a question sees it.

    Raises:
        RefusedQuestionError: nobody of that hotkey is there, or nothing of it is public.
    """
    queries, viewer = question.queries, question.viewer
    if hotkey not in seen_miners(question):
        raise unknown_miner(hotkey)
    entry, weights = queries.state.miners[hotkey], _weights(question, hotkey)
    done = queries.transaction.recorded_types(hotkey, sorted(queries.in_force.skill_types))
    of_lines = tuple(_pays(question, hotkey))
    if condition("miner", viewer, hotkey) == "leaderboards":
        public = public_boards(question)
        places = ((name, place) for name in done for place in public.get(name, ()))
        types = tuple(
            public_standing(queries, place, name, len(public[name]))
            for name, place in places
            if place.hotkey == hotkey
        )
        return MinerPage(hotkey, entry.uid, types, "", of_lines, weights, is_public=True)
    own = own_values(queries, viewer, hotkey)
    history = history_of(question, hotkey) if "reputation" in own else []
    boards = {name: board(question, name) for name in done if has_board(question, name)}
    types = tuple(
        _shown(type_standing(queries, entry, name, boards.get(name), _of_type(history, name)), own)
        for name in done
    )
    dispatched = queries.profile(hotkey).dispatched if "dispatched_rounds" in own else ""
    return MinerPage(hotkey, entry.uid, types, dispatched, of_lines, weights, is_public=False)


def _pays(question: Question, hotkey: str) -> Iterator[Pay]:
    """Yield what a miner is paid now; for others as the newest epoch closed that they see."""
    queries, number = question.queries, newest_epoch(question)
    if condition("pay", question.viewer, hotkey) == "always":
        columns = {line: queries.line_weights(line) for line in queries.in_force.lines}
        lines = {line: queries.chosen(own) for line, own in columns.items()}
        weights = EpochWeights(lines, queries.shared_weights(columns), queries.state.slots, {})
        yield from pays(columns.values(), weights, hotkey)
    elif number is not None and sees_closed(question, "pay", hotkey):
        weighed, weights = weighed_of(question, number), weights_of(question, number)
        sees_rounds = sees_closed(question, "rounds", hotkey)
        yield from pays(weighed, weights, hotkey, number, sees_rounds=sees_rounds)


def _weights(question: Question, hotkey: str) -> tuple[WeightHistory, ...]:
    history = weight_history(question, hotkey, _EPOCHS)
    lines = dict.fromkeys(line for _, own in history for line in own)
    return tuple(_of_line(line, [(n, own.get(line)) for n, own in history]) for line in lines)


def _of_line(line: str, history: list[tuple[int, int | None]]) -> WeightHistory:
    values = [(number, weight or 0) for number, weight in history]
    (first, start), (last, end) = values[0], values[-1]
    description = (
        f"Weight from {to_text(start)} in epoch {first} to {to_text(end)} in epoch {last}."
    )
    drawn = chart("Weight by epoch", description, [Series("weight", values)])
    return WeightHistory(line, tuple(reversed(history)), drawn)


def _of_type(history: History, skill_type: str) -> list[tuple[int, int]]:
    """Return the reputation in a type by epoch, in nano."""
    return [(epoch, from_decimal(own[skill_type])) for epoch, own in history if skill_type in own]


def _shown(standing: TypeStanding, own: Collection[str]) -> TypeStanding:
    """Return a standing without what the rules do not show."""
    if "reputation" not in own:
        standing = attrs.evolve(standing, reputation=None, distances=())
    if "rank" not in own:
        standing = attrs.evolve(standing, rank=None, ranked=None, reason="", distances=())
    return standing


@partial(Route, "/miners/{hotkey}", "miner")
def _miner(question: Question) -> Response:
    """The pay of one miner, the steps that lead there, and where it stands."""
    hotkey = question.text("hotkey")
    return question.page(
        "miner.html",
        view=miner_view(question, hotkey),
        most_rows=_ROWS,
        is_key=is_key(hotkey),
    )


@partial(Route, "/miners/{hotkey}/own", "service", reads=False)
def _challenge(question: Question) -> Response:
    """The text that a miner signs to see its own view, and how."""
    settings = question.site.settings
    challenge = challenge_of(question.request, settings, question.text("hotkey"))
    until = datetime.fromtimestamp(challenge.expires, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return question.page("challenge.html", challenge=challenge, until=until, kinds=KEY_TYPES)


_own = Route(
    "/miners/{hotkey}/own",
    "miner",
    _miner.answer,
    posted="The form of the challenge with its signature.",
    proves=True,
    is_kept=False,
)
"""The view that a miner has of itself, for the signature of its challenge."""


@partial(Route, "/miners/{hotkey}/reputation.csv", "history")
def _miner_csv(question: Question) -> Response:
    """The reputation of one miner by epoch and skill type, as CSV."""
    hotkey = question.text("hotkey")
    rows = [
        (epoch, name, str(reputation))
        for epoch, by_type in history_of(question, hotkey)
        for name, reputation in by_type.items()
    ]
    return csv_answer("reputation.csv", ("epoch", "skill_type", "reputation"), rows)
