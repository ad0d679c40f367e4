"""Answer: what is sent back, or the refusal of a question, with what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import attrs

from tallystick.io.text import json_text, visible
from tallystick.json_values import JsonObject

JSON, HTML, CSV = "application/json", "text/html; charset=utf-8", "text/csv; charset=utf-8"


CODES: Mapping[str, tuple[int, str]] = {
    # what no address takes
    "bad-path": (400, "the path has empty parts, dots, or an encoding that is none"),
    "other-host": (421, "the request names a host that is not the service's"),
    "two-lengths": (400, "the request says two lengths of its body"),
    "large-head": (431, "the headers are larger than 16 KiB"),
    "too-large": (413, "the body is larger than the address takes"),
    "slow-request": (408, "the body did not end in time"),
    "too-many-requests": (429, "one client asks more often than it may"),
    "other-method": (405, "the address is asked by another method"),
    "no-such-address": (404, "the service has no such address"),
    "bad-parameter": (400, "a parameter is unknown, missing, doubled, or of another kind"),
    # who asks
    "bad-proof": (401, "a miner's proof does not hold, is over, or is for another service"),
    "not-the-operator": (401, "the secret is not the operator's, or comes from another machine"),
    "not-shown": (403, "the rule set does not show this to the asker"),
    "embargo": (403, "the weights of the epoch are not public yet"),
    # what is not there
    "no-state": (503, "the state cannot be read"),
    "not-there": (404, "the state has no such thing"),
    "no-such-miner": (404, "there is no such miner, or none that the asker sees"),
    "no-such-type": (404, "the rules have no such skill type"),
    "no-such-epoch": (404, "the epoch has not begun, or is not closed"),
    "no-such-rule-set": (404, "the state follows no such rule set, and its plugins ship none"),
    "internal-error": (500, "the service itself fails, and its log has the reason"),
    # a posted record
    "not-scored": (422, "the rules cannot be loaded or do not score the record"),
    "busy": (503, "many records wait to be scored"),
    "too-slow": (422, "scoring the record takes too long"),
    "too-large-to-score": (422, "scoring the record takes too much memory"),
}
"""Codes of refusals with their status and meaning, beside those of records and states."""


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
        self.status = CODES[code][0] if status is None else int(status)
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
