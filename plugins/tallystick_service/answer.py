"""Answer: what is sent back, or the refusal of a question, with what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import attrs

from tallystick.io.text import json_text, visible
from tallystick.json_values import JsonObject

_PARTS = re.compile(r"found (.*?), expected (.*?)(?:: (.*))?$", re.DOTALL)

JSON, HTML, CSV = "application/json", "text/html; charset=utf-8", "text/csv; charset=utf-8"


@attrs.frozen
class Answer:
    """An answer.

    Attributes:
        body: its bytes.
        media_type: their kind.
        status: of HTTP.
        headers: others that it has.
    """

    body: bytes
    media_type: str = JSON
    status: int = HTTPStatus.OK
    headers: Mapping[str, str] = attrs.field(factory=dict)


def json_answer(view: Any, status: int = HTTPStatus.OK) -> Answer:  # noqa: ANN401  # any JSON value
    """Return a JSON value as an answer, as ``--json`` prints it."""
    return Answer(f"{json_text(view, indent=2)}\n".encode(), JSON, status)


class RefusedQuestionError(Exception):
    """A question that is not answered.

    Attributes:
        status: of HTTP.
        code: the stable name of the reason.
        found: what the question has.
        expected: what it should have.
        remedy: what to do.
        headers: that the answer has.
        path: of the value in what was posted.
        problems: all that is wrong with what was posted.
    """

    def __init__(  # noqa: PLR0913, PLR0917  # the parts of an error
        self,
        status: int,
        code: str,
        found: str,
        expected: str,
        remedy: str,
        headers: Mapping[str, str] | None = None,
        *,
        path: str = "",
        problems: Sequence[JsonObject] = (),
    ) -> None:
        self.path, self.problems = path, tuple(problems)
        self.status, self.code, self.headers = int(status), code, dict(headers or {})
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
    parts = _PARTS.search(message)
    return (message, "another question", "") if parts is None else parts.groups("")  # type: ignore[return-value]
