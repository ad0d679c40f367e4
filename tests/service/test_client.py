"""A client believes what a known key has signed and what is proved, and nothing else."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from service.live import EPOCHS, HOSTILE, OWN, TYPES, Live, history, live
from service.ports import unanswered
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from trust.council import signer

import tallystick
from tallystick.errors import InputError, TrustError
from tallystick_state.ledger import Ledger
from tallystick_state.trust.checkpoint import Checkpoint

KEY = signer("validator").public
RECORD = next(history().lines(1)).rstrip()


@pytest.fixture
def client(service: Live) -> Iterator[tallystick.Client]:
    with tallystick.Client(service.address, keys=[KEY]) as found:
        yield found


def test_what_is_proved_is_what_the_state_has(client: tallystick.Client, state: Path) -> None:
    with Ledger.open(state) as ledger, ledger.queries() as queries:
        board, epoch = queries.board(TYPES[1]), queries.state.epoch
        reputation = {
            number: queries.epoch(number).snapshot.reputation[board[0].hotkey][TYPES[1]]
            for number in range(1, epoch + 1)
        }
        thresholds = queries.epoch(2).snapshot.thresholds
    shown = client.board(TYPES[1])
    assert [place["hotkey"] for place in shown["board"]] == [place.hotkey for place in board]
    assert {*HOSTILE} < {place["hotkey"] for place in shown["board"]}
    assert client.reputation(board[0].hotkey, TYPES[1], epoch - 1) == reputation[epoch]
    assert client.thresholds(1) == thresholds
    assert client.believed is not None
    assert client.believed.size == EPOCHS
    assert client.checkpoint() == client.believed


def test_a_miner_sees_its_own_view_by_its_key(service: Live) -> None:
    with tallystick.Client(
        service.address, keys=[KEY], signer=signer("own miner", "sr25519"), hotkey=OWN
    ) as client:
        assert "rounds_24h" in client.miner(OWN)
        assert client.get(f"/api/v1/miners/{OWN}/epochs")["hotkey"] == OWN
        # one of an earlier epoch, which no leaderboard has
        epochs = client.get(f"/api/v1/miners/{OWN}/epochs")["epochs"]
        told = {row["epoch"]: row["reputation"] for row in epochs}
        assert client.reputation(OWN, TYPES[0], 1) == Decimal(told[2][TYPES[0]])


def test_a_record_is_explained(client: tallystick.Client) -> None:
    told = tallystick.load("skills@1.0.0").explain(RECORD).to_dict()
    assert client.explain(RECORD, "skills@1.0.0") == told


@pytest.mark.parametrize("keys", [[], [signer("another").public]])
def test_a_checkpoint_that_nobody_known_signed_is_not_believed(
    service: Live, keys: list[Any]
) -> None:
    with tallystick.Client(service.address, keys=keys) as client:
        for ask in (client.checkpoint, lambda: client.reputation(OWN, TYPES[0], EPOCHS - 1)):
            with pytest.raises(TrustError, match="no signature by a known key"):
                ask()
        assert client.believed is None


def test_a_log_that_grew_is_believed_and_one_that_was_cut_back_is_not(own_state: Path) -> None:
    path = own_state
    with live(path, signed_by=signer("validator")) as service:
        with tallystick.Client(service.address, keys=[KEY]) as client:
            first = client.checkpoint()
            with Ledger.open(path) as ledger:
                ledger.close_epoch(EPOCHS)
            later = client.checkpoint()
            assert (first.size, later.size) == (EPOCHS, EPOCHS + 1)
        longer = Checkpoint(later.origin, later.size + 1, later.root)
        with (
            tallystick.Client(service.address, keys=[KEY], checkpoint=longer) as client,
            pytest.raises(TrustError, match="that were there before"),
        ):
            client.checkpoint()
        other = Checkpoint(first.origin, first.size, bytes(32))
        with (
            tallystick.Client(service.address, keys=[KEY], checkpoint=other) as client,
            pytest.raises(TrustError, match="root"),
        ):
            client.checkpoint()


Change = Callable[[Any], object]


def changed(service: Live, at: str, change: Change) -> list[Route]:
    """Routes that stand before the true ones, and change what one of them says."""

    async def answer(request: Request) -> JSONResponse:
        query = f"?{request.url.query}" if request.url.query else ""
        value = service.ask(f"{request.url.path}{query}").json()
        told = change(value) if at in request.url.path else None
        return JSONResponse(value if told is None else told)

    paths = ("/api/v1/proofs/row", "/api/v1/leaderboards/{t}", "/api/v1/checkpoint")
    return [Route(path, answer) for path in paths]


def _other_root(value: dict[str, Any]) -> None:
    lines = value["checkpoint"].split("\n")
    value["checkpoint"] = "\n".join([lines[0], lines[1], "A" * 43 + "=", *lines[3:]])


LIES: list[tuple[str, Change]] = [
    ("row", lambda value: value["row"][-1].update(next="0.999000000")),
    ("row", lambda value: {**value, "row": ["somebody else", *value["row"][1:]]}),
    ("leaderboards", lambda value: value["board"][0].update(reputation="0.999000000")),
    ("row", lambda value: {k: v for k, v in value.items() if k != "checkpoint"}),
    ("row", lambda value: {**value, "rows": []}),
    ("row", _other_root),
    ("", lambda value: [value]),
]
"""Changes of answers that a service could make, by a part of the address."""


@pytest.mark.parametrize(("at", "change"), LIES)
def test_a_service_that_lies_is_found_out(
    service: Live, state: Path, at: str, change: Change
) -> None:
    with (
        live(state, routes=changed(service, at, change)) as lying,
        tallystick.Client(lying.address, keys=[KEY]) as client,
        pytest.raises((TrustError, InputError)),
    ):
        client.board(TYPES[1])


def test_a_true_service_behind_another_is_believed(service: Live, state: Path) -> None:
    with (
        live(state, routes=changed(service, "", lambda _: None)) as honest,
        tallystick.Client(honest.address, keys=[KEY]) as client,
    ):
        assert client.board(TYPES[1])["board"]


def test_a_refusal_says_what_to_do(client: tallystick.Client) -> None:
    with pytest.raises(InputError, match="status 404: found the hotkey nobody, expected"):
        client.miner("nobody")


@pytest.mark.parametrize("address", ["ftp://x", "http://", "x", "http://x/path"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="found the address"):
        tallystick.Client(address)


def test_a_service_that_is_not_there_is_told() -> None:
    with (
        unanswered() as nobody,
        tallystick.Client(f"http://{nobody}") as client,
        pytest.raises(InputError, match="cannot be asked"),
    ):
        client.checkpoint()


def test_a_signer_without_its_hotkey_is_refused() -> None:
    with pytest.raises(InputError, match="alone"):
        tallystick.Client("http://127.0.0.1:9", hotkey=OWN)


def test_answers_are_json_of_one_reading(state: Path) -> None:
    async def doubled(_: Request) -> JSONResponse:
        response = JSONResponse({})
        response.body = b'{"checkpoint": 1, "checkpoint": 2}'
        response.headers["content-length"] = str(len(response.body))
        return response

    with (
        live(state, routes=[Route("/api/v1/checkpoint", doubled)]) as service,
        tallystick.Client(service.address, keys=[KEY]) as client,
        pytest.raises(InputError, match="status 200"),
    ):
        client.checkpoint()
