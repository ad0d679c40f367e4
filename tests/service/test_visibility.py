"""Who sees what: every address as the public, as a miner and as the operator, by the one table."""

import json
from functools import cache
from pathlib import Path
from urllib.parse import quote

import pytest
from examples import fast_rows
from service.live import AS_OPERATOR, EPOCHS, HOSTILE, OTHER, OWN, TYPES, Live, live, made
from service.test_routes import ROWS, path_of

from tallystick_service.access import ACCESS
from tallystick_service.application import ROUTES
from tallystick_service.pages import ROUTES as PAGES
from tallystick_service.route import Route
from tallystick_state.ledger import Ledger

PER_TASK = ("task_id", "task-", '"round"', "alignment", "verified")
"""Parts of answers that would tell of a task or of a round."""
ASKED = [row for row in ROWS if not row.posted]


def holds(condition: str, *, is_public: bool, is_over: bool) -> bool:
    """Whether somebody sees a subject, by the condition of the table."""
    return {
        "always": True,
        "never": False,
        "leaderboards": is_public,
        "own": True,
        "embargo": is_over,
        "leaderboards, embargo": is_public and is_over,
    }[condition]


def values_of(row: Route, epoch: int) -> dict[str, str]:
    """Values under which nothing but the asker decides."""
    key = json.dumps([OWN, TYPES[1]])
    return {"epoch": str(epoch), "step": "reputations", "key": key} if row.parameters else {}


@pytest.mark.parametrize("row", ASKED, ids=lambda row: row.name)
@pytest.mark.parametrize("viewer", ["public", "own", "operator"])
@pytest.mark.parametrize("is_public", fast_rows([True, False], 0))
def test_every_address_shows_what_the_table_says(
    service: Live, closed_service: Live, row: Route, viewer: str, is_public: bool
) -> None:
    asked = service if is_public else closed_service
    access = ACCESS[row.subject]
    headers = {"public": {}, "own": asked.proof(), "operator": AS_OPERATOR}[viewer]
    for epoch in (EPOCHS - 2, EPOCHS - 1):
        # of the last epoch that is closed the embargo is not over
        reply = asked.ask(path_of(row, **values_of(row, epoch)), headers)
        sees = holds(
            getattr(access, viewer, "always"), is_public=is_public, is_over=epoch == EPOCHS - 2
        )
        if row.subject == "history" and not is_public and viewer == "own":
            # that rule set shows a miner its rank alone
            sees = False
        if row.subject == "reputations" and viewer == "public" and epoch == EPOCHS - 2:
            # what no leaderboard has now
            sees = False
        assert reply.status == (200 if sees else 403), (access, reply.body)
        if not sees:
            assert reply.code in {"not-shown", "embargo"}


def test_every_address_names_a_subject() -> None:
    assert {row.subject for row in ROUTES} <= {*ACCESS}


@pytest.mark.parametrize("row", PAGES, ids=lambda row: row.path)
def test_no_page_names_a_miner_whom_the_asker_does_not_see(
    closed_service: Live, row: Route, state: Path
) -> None:
    """Of rules that make nothing public: neither to everyone nor to another miner."""
    address = path_of(row, rules="skills@1.2.0", hotkey=OTHER)
    for headers in ({}, closed_service.proof()):
        reply = closed_service.ask(address, {**headers, "accept": "text/html"})
        assert reply.status in {200, 403, 404}, reply.body
        text = reply.body.decode()
        seen = {OTHER, OWN} if "{hotkey}" in row.path or headers else set()
        assert not [name for name in registered(state) if name not in seen and name in text]
        if "{hotkey}" in row.path and row.subject == "miner" and not row.posted:
            # what is not shown and who is not there look the same
            gone = closed_service.ask(
                path_of(row, hotkey="nobody"), {**headers, "accept": "text/html"}
            )
            assert (reply.status, text) == (
                gone.status,
                gone.body.decode().replace("nobody", OTHER),
            )


@cache
def registered(state: Path) -> tuple[str, ...]:
    """The hotkeys that a state has, as pages show those that are not hostile."""
    with Ledger.open(state) as ledger, ledger.queries() as queries:
        return tuple(queries.state.miners)


@pytest.mark.parametrize("row", [*ASKED, *PAGES], ids=lambda row: row.path)
@pytest.mark.parametrize("viewer", ["own", "operator"])
def test_nothing_tells_of_a_task_or_a_round(service: Live, row: Route, viewer: str) -> None:
    headers = {"own": service.proof(), "operator": AS_OPERATOR}[viewer]
    if row.subject in {"rules", "scoring", "service"}:
        return
    of_page = row in PAGES
    for values in ({"rules": "skills@1.2.0"} if of_page else {}, values_of(row, 1)):
        reply = service.ask(
            path_of(row, **values), headers | ({"accept": "text/html"} if of_page else {})
        )
        assert reply.status in {200, 403, 404}
        parts = ("task-0", "task_id") if of_page else PER_TASK
        assert not [part for part in parts if part in reply.body.decode()]


@pytest.mark.parametrize("step", ["inputs", "facts", "results", "deltas", "weights"])
def test_no_row_of_a_task_or_a_round_is_proved_to_anyone(service: Live, step: str) -> None:
    address = f"/api/v1/proofs/row?epoch=1&step={step}&key=%5B%22a%22%5D"
    assert service.ask(address, AS_OPERATOR).code == "bad-parameter"


def test_a_miner_sees_of_itself_what_own_lists(service: Live, closed_service: Live) -> None:
    address = f"/api/v1/miners/{OWN}"
    assert {*service.ask(address, service.proof()).json()} == {
        *("hotkey", "epoch", "reputation", "rank", "rounds_24h", "rounds_counted")
    }
    assert {*closed_service.ask(address, closed_service.proof()).json()} == {
        *("hotkey", "epoch", "rank")
    }


def test_of_others_a_miner_sees_what_everyone_sees(service: Live, closed_service: Live) -> None:
    address = f"/api/v1/miners/{OTHER}"
    assert service.ask(address, service.proof()).body == service.ask(address).body
    assert closed_service.ask(address, closed_service.proof()).code == "not-shown"
    assert service.ask(f"{address}/epochs", service.proof()).code == "not-shown"
    weight = f"{address}/epochs/1/weight"
    assert service.ask(weight, service.proof()).body == service.ask(weight).body
    assert closed_service.ask(weight, closed_service.proof()).code == "not-shown"


def test_the_score_of_one_round_is_the_miners_and_the_operators(
    service: Live, tmp_path: Path
) -> None:
    """The steps in which weights of one round tell of it: all, or those before what is carried."""
    path = f"/api/v1/miners/{OWN}/epochs/1/weight"

    def score(headers: dict[str, str]) -> str | None:
        (line,) = service.ask(path, headers).json()["lines"].values()
        value: str | None = line["steps"][0]["value"]
        return value

    assert score({}) is None
    assert score(service.proof()) == score(AS_OPERATOR) is not None
    of_round = made(tmp_path, "skills@1.1.0")
    with live(of_round) as other:
        whole = other.ask(path, AS_OPERATOR).json()
        assert other.ask(path, other.proof()).json() == whole
        assert other.ask(path).code == "not-shown"
        page = f"/miners/{OWN}"
        pages = [
            other.ask(page, {**headers, "accept": "text/html"}).body.decode()
            for headers in ({}, other.proof())
        ]
    assert ['class="steps"' in page for page in pages] == [False, True]
    assert all("What it is paid" in page for page in pages)


def test_who_is_hidden_and_who_is_not_there_look_the_same(closed_service: Live) -> None:
    there, gone = (closed_service.ask(f"/api/v1/miners/{name}") for name in (OTHER, "nobody"))
    assert (there.status, there.body) == (gone.status, gone.body)


def test_the_public_view_of_a_miner_is_its_places_on_the_leaderboards(service: Live) -> None:
    answer = service.ask(f"/api/v1/miners/{OWN}").json()
    for name in TYPES:
        board = service.ask(f"/api/v1/leaderboards/{name}").json()["board"]
        (place,) = [place for place in board if place["hotkey"] == OWN]
        assert answer["rank"][name] == place["rank"]
        assert answer["reputation"][name] == place["reputation"]
    assert "rounds_24h" not in answer


def test_answers_of_two_viewers_have_two_tags(service: Live) -> None:
    address = f"/api/v1/miners/{OWN}"
    replies = [service.ask(address, who) for who in ({}, service.proof(), AS_OPERATOR)]
    assert len({reply.headers["etag"] for reply in replies}) == 3
    assert [reply.headers["cache-control"] for reply in replies] == [
        *("public, no-cache", "private, no-cache", "private, no-cache")
    ]
    assert all("authorization" in reply.headers["vary"].lower() for reply in replies)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_hotkey_is_text(service: Live, name: str) -> None:
    reply = service.ask(f"/api/v1/miners/{quote(name, safe='')}", AS_OPERATOR)
    assert reply.status == 200, reply.body
    assert reply.json()["hotkey"] == name
    assert reply.headers["content-type"] == "application/json"
    # nothing that is not seen, and nothing that moves what stands beside it
    assert not {"\u202e", "\u2066", "\u202c"} & {*reply.body.decode()}


def test_without_an_embargo_the_last_weights_are_public(state: Path) -> None:
    address = f"/api/v1/epochs/{EPOCHS - 1}/weights"
    with live(state, embargo=0) as service:
        assert service.ask(address).status == 200
        assert service.ask(f"/api/v1/epochs/{EPOCHS}/weights").code == "no-such-epoch"
    with live(state, embargo=EPOCHS) as service:
        assert service.ask("/api/v1/epochs/0/weights").code == "embargo"


def test_no_tag_tells_of_what_is_not_shown(service: Live) -> None:
    """A star would be met by whatever is there, and by what is not."""
    star = {"if-none-match": "*"}
    for address in ("/api/v1/miners", "/api/v1/epochs/99", f"/api/v1/epochs/{EPOCHS - 1}/weights"):
        assert service.ask(address, star).status == service.ask(address).status >= 400
    assert service.ask("/api/v1/state", star).status == 200


def test_a_tag_holds_for_one_embargo(state: Path) -> None:
    tags = set()
    for embargo in (0, 1):
        with live(state, embargo=embargo) as service:
            tags.add(service.ask("/api/v1/state").headers["etag"])
    assert len(tags) == 2
