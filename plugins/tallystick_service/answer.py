"""Answer: what is sent back, or the refusal of a question, with what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from tallystick.io.text import json_text, visible
from tallystick.json_values import JsonObject

JSON, HTML, CSV = "application/json", "text/html; charset=utf-8", "text/csv; charset=utf-8"


CODES: Mapping[str, int] = {
    # what no address takes
    "bad-path": 400,
    "other-host": 421,
    "two-lengths": 400,
    "large-head": 431,
    "too-large": 413,
    "slow-request": 408,
    "too-many-requests": 429,
    "other-method": 405,
    "no-such-address": 404,
    "bad-parameter": 400,
    # who asks
    "bad-proof": 401,
    "not-the-operator": 401,
    "not-shown": 403,
    "embargo": 403,
    # what is not there
    "no-state": 503,
    "not-there": 404,
    "no-such-miner": 404,
    "no-such-type": 404,
    "no-such-epoch": 404,
    "no-such-rule-set": 404,
    "internal-error": 500,
    # a posted record
    "not-scored": 422,
    "busy": 503,
    "too-slow": 422,
    "too-large-to-score": 422,
}
"""Status of HTTP by code of a refusal; records and states have codes of their own beside."""


def json_answer(
    view: Any,  # noqa: ANN401  # any JSON value
    status: int = HTTPStatus.OK,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a JSON value as an answer, as ``--json`` prints it."""
    return Response(f"{json_text(view, indent=2)}\n".encode(), status, headers, JSON)


class RefusedQuestionError(Exception):
    """A question that is not answered.

    Attributes:
        status: of HTTP; by default that of the code.
        code: the stable name of the reason.
        found: what the question has.
        expected: what it should have.
        remedy: what to do.
        headers: that the answer has.
        path: of the value in what was posted.
        problems: all that is wrong with what was posted.
    """

    def __init__(  # noqa: PLR0913  # the parts of an error
        self,
        code: str,
        found: str,
        expected: str,
        remedy: str,
        headers: Mapping[str, str] | None = None,
        *,
        status: int | None = None,
        path: str = "",
        problems: Sequence[JsonObject] = (),
    ) -> None:
        self.path, self.problems = path, tuple(problems)
        self.status = CODES[code] if status is None else int(status)
        self.code, self.headers = code, dict(headers or {})
        self.found, self.expected, self.remedy = visible(found), visible(expected), visible(remedy)
        super().__init__(f"found {self.found}, expected {self.expected}: {self.remedy}")

    def view(self) -> JsonObject:
        """Return the error as a JSON object."""
        names = ("code", "found", "expected", "remedy")
        view: JsonObject = {name: getattr(self, name) for name in names}
        if self.path:
            view["path"] = self.path
        if self.problems:
            view["problems"] = list(self.problems)
        return {"error": view}


def parts_of(message: str) -> tuple[str, str, str]:
    """Return of a message of the engine what was found, what was expected, and what to do."""
    before, mark, rest = message.partition(", expected ")
    if not mark:
        return message, "another question", ""
    expected, _, remedy = rest.partition(": ")
    return before.rpartition("found ")[2], expected, remedy
