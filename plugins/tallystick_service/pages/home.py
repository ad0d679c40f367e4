"""The first page: what is here, and the state at a glance."""

from __future__ import annotations

from functools import partial

from starlette.responses import Response

from tallystick_service.route import Question, Route


@partial(Route, "/", "epochs")
def _home(question: Question) -> Response:
    """The first page, which leads to the others."""
    queries = question.queries
    epoch = queries.state.epoch
    rules = {name: timeline.at(epoch) for name, timeline in queries.in_force.lines.items()}
    return question.page("home.html", info=queries.info(), rules=rules)
