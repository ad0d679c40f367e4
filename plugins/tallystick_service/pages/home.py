"""The first page: what is here, and the state at a glance."""

from __future__ import annotations

from tallystick_service.answer import HTML, Answer
from tallystick_service.route import Question, Route


def _home(question: Question) -> Answer:
    queries = question.queries
    epoch = queries.state.epoch
    rules = {name: timeline.at(epoch) for name, timeline in queries.in_force.lines.items()}
    return question.page("home.html", info=queries.info(), rules=rules)


ROUTES = (
    Route(
        path="/",
        name="home_page",
        sentence="What is here.",
        answer=_home,
        subject="epochs",
        media_type=HTML,
    ),
)
"""The first page."""
