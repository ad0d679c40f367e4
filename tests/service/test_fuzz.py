"""Whatever is asked, the answer is one of the description, and never a fault of the service."""

import json
from typing import Any
from urllib.parse import quote

import examples
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from service.conftest import OPERATOR
from service.live import HOSTILE, OWN, TYPES, Live, history
from service.test_routes import ROWS, VALUES

from tallystick_service.answer import JSON
from tallystick_service.route import Parameter, Route

RECORD = next(history().lines(1)).rstrip()
_TEXTS = st.one_of(
    st.text(max_size=30),
    st.sampled_from([*VALUES.values(), *HOSTILE, *TYPES, OWN, "-1", "9" * 30, "1e3", "٣", "null"]),
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


def value_of(parameter: Parameter) -> st.SearchStrategy[str]:
    if parameter.kind == "number":
        return st.integers(0, 8).map(str) | _TEXTS
    choices = [VALUES.get(parameter.name, parameter.example), *parameter.choices]
    return st.sampled_from(choices) | _TEXTS


@st.composite
def questions(draw: st.DrawFn) -> tuple[Route, str, bytes | None, dict[str, str]]:
    row = draw(st.sampled_from(ROWS))
    path, query = row.path, list[str]()
    for parameter in row.parameters:
        value = quote(draw(value_of(parameter)).encode("utf-8", "replace"), safe="")
        if f"{{{parameter.name}}}" in path:
            path = path.replace(f"{{{parameter.name}}}", value)
        elif draw(st.booleans()):
            query.append(f"{parameter.name}={value}")
    body = None
    if row.posted:
        body = draw(st.sampled_from([RECORD, b"", RECORD[:-5]]) | _JSON.map(_encoded))
    who = draw(st.sampled_from([{}, {"authorization": f"Bearer {OPERATOR}"}]))
    return row, f"{path}?{'&'.join(query)}" if query else path, body, who


def _encoded(value: Any) -> bytes:  # noqa: ANN401  # any JSON value
    return json.dumps(value).encode()


@pytest.fixture(scope="module")
def description(service: Live) -> dict[str, Any]:
    found: dict[str, Any] = service.ask("/api/v1/openapi.json").json()
    return found


@settings(max_examples=examples.number(60))
@given(questions())
def test_every_answer_is_described(
    service: Live,
    description: dict[str, Any],
    question: tuple[Route, str, bytes | None, dict[str, str]],
) -> None:
    row, address, body, who = question
    method = "POST" if row.posted else "GET"
    reply = service.ask(address, who, method=method, body=body)
    responses = description["paths"][row.path][method.lower()]["responses"]
    if str(reply.status) not in responses:
        # a value that is empty, or a dot, leads to another address
        assert reply.code in {"no-such-address", "bad-path"}
        return
    content = responses[str(reply.status)]["content"]
    media_type = reply.headers["content-type"].partition(";")[0]
    if media_type == JSON:
        schema = {**content[JSON]["schema"], "components": description["components"]}
        Draft202012Validator(schema).validate(reply.json())
    assert media_type in content
