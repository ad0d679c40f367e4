"""Every address answers: with its type, as the command line does, once for each state."""

import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from cli.command import run
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from installed import beside, install
from jsonschema import Draft202012Validator
from service.live import AS_OPERATOR, EPOCHS, HOSTILE, OWN, TYPES, Live, Reply, history, live
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from tallystick.errors import StoreError
from tallystick_service.answer import JSON
from tallystick_service.application import ROUTES
from tallystick_service.route import Parameter, Route
from tallystick_service.scoring_process import Order, answered
from tallystick_state.ledger import Ledger

VALUES = {
    "skill_type": TYPES[1],
    "hotkey": OWN,
    "epoch": "1",
    "reference": "skills@1.2.0",
    "step": "thresholds",
    "key": json.dumps([TYPES[1], "novel"]),
    "old": "1",
    "new": "3",
    "last": "2",
}
"""A value for each parameter that is required, and some others."""
ROWS = [row for row in ROUTES if row.path.startswith(("/api/", "/healthz", "/metrics"))]
RECORD = next(history().lines(1)).rstrip()


def path_of(row: Route, **values: str) -> str:
    """The address of a row with the values of its parameters."""
    path, query = row.path, list[str]()
    for parameter in row.parameters:
        value = quote({**VALUES, **values}.get(parameter.name, parameter.example), safe="")
        if f"{{{parameter.name}}}" in path:
            path = path.replace(f"{{{parameter.name}}}", value)
        elif parameter.required or parameter.name in values:
            query.append(f"{parameter.name}={value}")
    return f"{path}?{'&'.join(query)}" if query else path


def asked(service: Live, row: Route, **headers: str) -> Reply:
    body = RECORD if row.posted else None
    method = "POST" if row.posted else "GET"
    return service.ask(path_of(row), headers, method=method, body=body)


@pytest.fixture(scope="module")
def description(service: Live) -> dict[str, Any]:
    found: dict[str, Any] = service.ask("/api/v1/openapi.json").json()
    return found


def check_described(description: dict[str, Any], row: Route, reply: Reply) -> None:
    """The type and the value of an answer are those that the description has for its status."""
    method = "post" if row.posted else "get"
    content = description["paths"][row.path][method]["responses"][str(reply.status)]["content"]
    media_type = reply.headers["content-type"].partition(";")[0]
    assert media_type in content
    if media_type == JSON:
        schema = {**content[JSON]["schema"], "components": description["components"]}
        Draft202012Validator.check_schema(schema)
        Draft202012Validator(schema).validate(reply.json())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_answer_is_of_its_type(
    service: Live, description: dict[str, Any], row: Route
) -> None:
    reply = asked(service, row, **AS_OPERATOR)
    assert reply.status == 200, reply.body
    assert reply.headers["content-type"] == row.media_type
    check_described(description, row, reply)


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
def questions(draw: st.DrawFn) -> tuple[Route, str, bytes | None]:
    row = draw(st.sampled_from(ROWS))
    values = {
        each.name: draw(value_of(each))
        for each in row.parameters
        if f"{{{each.name}}}" in row.path or draw(st.booleans())
    }
    body = st.sampled_from([RECORD, b"", RECORD[:-5]]) | _JSON.map(lambda v: json.dumps(v).encode())
    return row, path_of(row, **values), draw(body) if row.posted else None


@examples(60)
@given(questions(), st.sampled_from([{}, AS_OPERATOR]))
def test_every_answer_to_whatever_is_asked_is_described(
    service: Live,
    description: dict[str, Any],
    question: tuple[Route, str, bytes | None],
    headers: dict[str, str],
) -> None:
    row, address, body = question
    reply = service.ask(address, headers, method="POST" if row.posted else "GET", body=body)
    if (reply.status == 404 and reply.code == "no-such-address") or reply.status == 400:
        # a value that is empty, or a dot, leads to another address
        return
    check_described(description, row, reply)


RECORDS_OF_A_MINER = {"uid", "weights", "without", "scores", "movements"}


@pytest.mark.parametrize(
    ("address", "command"),
    [
        (f"/api/v1/leaderboards/{TYPES[0]}", ("state", "board", TYPES[0])),
        ("/api/v1/miners", ("miner", "list")),
        (f"/api/v1/miners/{OWN}", ("state", "show", OWN)),
        ("/api/v1/weights", ("weights",)),
        ("/api/v1/epochs", ("epoch", "list")),
        ("/api/v1/epochs/2", ("epoch", "show", "2")),
        ("/api/v1/rules", ("state", "rules")),
        ("/api/v1/rule-sets/skills@1.2.0", ("rules", "show", "skills@1.2.0")),
    ],
)
def test_an_answer_is_what_the_command_line_gives(
    service: Live, state: Path, address: str, command: tuple[str, ...]
) -> None:
    of_state = () if command[0] == "rules" else ("--state", str(state))
    told, answer = run(*command, *of_state, "--json").json(), service.ask(address, AS_OPERATOR)
    found = answer.json()
    # an epoch has its leaf beside
    assert found.pop("leaf", {"epoch": 2})["epoch"] == 2
    # of its records a miner has nothing here
    of_records = RECORDS_OF_A_MINER if command[:2] == ("state", "show") else set()
    assert found == {name: told[name] for name in told.keys() - of_records}
    if command[0] == "rules":
        assert service.ask(f"/api/v1/rule-sets/{told['digest']}").body == answer.body


@pytest.mark.parametrize("number", range(EPOCHS - 1))
def test_the_weights_of_an_epoch_are_those_that_its_rows_prove(
    service: Live, state: Path, number: int
) -> None:
    with Ledger.open(state) as ledger, ledger.epoch_log() as log:
        rows = [json.loads(row)[-1] for row in log.rows(number)["weights"] or ()]
    proved = {row["uid"]: row["weight"] for row in rows if row["weight"] is not None}
    answer = service.ask(f"/api/v1/epochs/{number}/weights").json()
    shown = dict(zip(answer["uids"], answer["weights"], strict=True))
    assert shown == {uid: weight for uid, weight in proved.items() if float(weight)}
    assert shown
    assert max(answer["uint16"]) == 65535


def test_an_explanation_is_what_the_command_line_gives(
    service: Live, state: Path, tmp_path: Path
) -> None:
    file = tmp_path / "record.jsonl"
    file.write_bytes(RECORD)
    for more, query in (
        (("--state", str(state)), ""),
        (("--rules", "skills@1.0.0"), "?rules=skills@1.0.0"),
    ):
        told = run("explain", str(file), *more, "--json").json()
        address = f"/api/v1/explain{query}"
        assert service.ask(address, method="POST", body=RECORD).json() == told
        score = service.ask(f"/api/v1/score{query}", method="POST", body=RECORD).json()
        assert score == told["result"]


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.reads and row.is_kept], ids=lambda row: row.name
)
def test_an_answer_has_a_strong_tag_and_is_not_sent_twice(service: Live, row: Route) -> None:
    reply = asked(service, row, **AS_OPERATOR)
    tag = reply.headers["etag"]
    assert tag.startswith('"')
    again = service.ask(path_of(row), {**AS_OPERATOR, "if-none-match": f'"x", {tag}'})
    assert (again.status, again.body) == (304, b"")
    assert again.headers["etag"] == tag
    assert service.ask(path_of(row), {**AS_OPERATOR, "if-none-match": '"x"'}).status == 200


def test_digests_are_in_the_headers(service: Live) -> None:
    reply = service.ask("/api/v1/epochs")
    state = service.ask("/api/v1/state").json()
    assert reply.headers["tallystick-state"] == state["digest"]
    assert reply.headers["tallystick-rules"] == state["rules_digest"]


def test_head_has_the_headers_alone(service: Live) -> None:
    reply, whole = (service.ask("/api/v1/rules", method=method) for method in ("HEAD", "GET"))
    assert (reply.status, reply.body) == (200, b"")
    assert reply.headers["content-length"] == str(len(whole.body))
    assert reply.headers["etag"] == whole.headers["etag"]


@pytest.mark.parametrize(
    ("address", "status", "code"),
    [
        ("/api/v1/leaderboards/none", 404, "no-such-type"),
        ("/api/v1/miners/nobody", 404, "no-such-miner"),
        ("/api/v1/epochs/99", 404, "no-such-epoch"),
        ("/api/v1/epochs/x", 400, "bad-parameter"),
        ("/api/v1/epochs/-1", 400, "bad-parameter"),
        ("/api/v1/epochs/1/weights?epoch=2", 400, "bad-parameter"),
        ("/api/v1/epochs?last=1&last=2", 400, "bad-parameter"),
        ("/api/v1/epochs?other=1", 400, "bad-parameter"),
        ("/api/v1/rule-sets/none", 404, "no-such-rule-set"),
        ("/api/v1/proofs/row?epoch=1&step=results&key=%5B%5D", 400, "bad-parameter"),
        ("/api/v1/proofs/row?epoch=1&step=thresholds&key=7", 400, "bad-parameter"),
        ("/api/v1/proofs/row?epoch=1&step=thresholds&key=%5B%22a%22%5D", 404, "not-there"),
        ("/api/v1/proofs/row?epoch=1&step=thresholds", 400, "bad-parameter"),
        ("/none", 404, "no-such-address"),
        ("/static/none.css", 404, "no-such-address"),
    ],
)
def test_a_refusal_has_a_code_and_says_what_to_do(
    service: Live, address: str, status: int, code: str
) -> None:
    reply = service.ask(address, AS_OPERATOR)
    assert (reply.status, reply.code) == (status, code), reply.body
    error = reply.json()["error"]
    assert all(error[name] for name in ("found", "expected", "remedy"))


def test_another_method_is_refused(service: Live) -> None:
    reply = service.ask("/api/v1/state", method="DELETE")
    assert (reply.status, reply.code) == (405, "other-method")
    assert "GET" in reply.headers["allow"]
    assert service.ask("/api/v1/explain").status == 405


def test_a_route_of_others_that_cannot_read_the_state_is_no_defect(state: Path) -> None:
    """As on a full disk, where SQLite has no room for its files."""

    def broken(_: Request) -> Response:
        raise StoreError("/srv/subnet.db: found no room to write")

    with live(state, routes=[StarletteRoute("/peer/v1/status", broken)]) as service:
        answer = service.ask("/peer/v1/status")
    assert answer.status == 503
    assert b"/srv" not in answer.body
    assert answer.json()["error"]["code"] == "no-state"


def test_a_request_imports_no_plugin_that_the_rules_of_the_state_do_not_name(
    state: Path, tmp_path: Path
) -> None:
    install(tmp_path, "stranger", plugins={"stranger": "stranger_plugin"})
    (tmp_path / "stranger_plugin.py").write_text("imported = True\n")
    with beside(tmp_path), live(state) as service:
        known = service.ask("/api/v1/rule-sets").json()["rule_sets"]
        assert {row["name"].partition("@")[0] for row in known} == {"skills"}
        for path in ("/rules", "/rules/diff", "/playground"):
            assert service.ask(path).status == 200
        for name in ("stranger@1.0.0", "workflow@1.2.0"):
            assert service.ask(f"/rules/{name}").status == 404
            assert service.ask(f"/api/v1/rule-sets/{name}").status == 404
        scored = "/api/v1/score?rules=stranger@1.0.0"
        assert service.ask(scored, method="POST", body=RECORD).status == 422
        with Ledger.open(state) as ledger:
            edits = ("axes.policy.formula=stranger/policy@1",)
            order = Order(do="score", record=RECORD, rules="skills@1.2.0", edits=edits)
            assert "refused" in answered(order, ledger)
        assert "stranger_plugin" not in sys.modules
