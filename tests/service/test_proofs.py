"""Who asks: a miner by its signature, for one origin and a short time; an operator by a secret."""

import base64
import re
import time
from pathlib import Path
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from service.live import OPERATOR, OTHER, OWN, Live, Reply, live
from trust.council import signer

from tallystick_service.challenge import Challenge
from tallystick_state.trust.encoding import ss58_text

ADDRESS = f"/api/v1/miners/{OWN}/epochs"


def status(service: Live, value: str) -> int:
    return service.ask(ADDRESS, {"authorization": value}).status


def challenged(service: Live, named: str = OWN) -> dict[str, str]:
    """The fields of the form that a browser is shown."""
    reply = service.ask(f"/miners/{named}/own", {"accept": "text/html"})
    assert reply.status == 200
    assert reply.headers["cache-control"] == "no-store"
    fields = re.findall('type="hidden" name="([^"]*)" value="([^"]*)"', reply.body.decode())
    return {"key-type": "sr25519", **dict(fields)}


def signed(fields: dict[str, str], named: str = OWN, by: str = "own miner") -> str:
    challenge = Challenge(fields["origin"], named, int(fields["expires"]))
    return signer(by, "sr25519").sign(challenge.message).hex()


def posted(service: Live, fields: dict[str, str]) -> Reply:
    headers = {"accept": "text/html", "content-type": "application/x-www-form-urlencoded"}
    body = urlencode(fields).encode()
    return service.ask(f"/miners/{OWN}/own", headers, method="POST", body=body)


def test_a_browser_is_shown_a_challenge_and_its_signature_shows_the_own_view(
    service: Live,
) -> None:
    fields = challenged(service)
    assert fields["origin"] == service.address
    digits = signed(fields)
    for signature in (digits, f" 0x{digits.upper()}\r\n", f"{digits[:80]}\r\n{digits[80:]}"):
        reply = posted(service, {**fields, "signature": signature})
        assert reply.status == 200, reply.body
        assert reply.headers["cache-control"] == "no-store"
        assert "set-cookie" not in reply.headers
        assert "form-action 'self'" in reply.headers["content-security-policy"]
        assert b"Reputation by epoch" in reply.body
    # nothing is remembered
    assert b"Reputation by epoch" not in service.ask(f"/miners/{OWN}").body


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"expires": "1700000000"}, "a proof that is over"),
        ({"expires": str(10**12)}, "a proof that is over, or holds for too long"),
        ({"expires": "soon"}, "a proof that cannot be read"),
        ({"origin": "https://evil.example"}, "a proof for https://evil.example"),
        ({"signature": "0" * 128}, "a signature that does not hold"),
        ({"signature": "xyz"}, "a proof that cannot be read"),
        ({"signature": ""}, "a proof that cannot be read"),
        ({"signature": "0" * 4000}, "a form of"),
        ({"key-type": "rsa"}, "a proof that cannot be read"),
        ({"hotkey": OTHER}, "a form that cannot be read"),
        ({"more": "1"}, "expires, hotkey"),
    ],
    ids=str,
)
def test_a_form_that_does_not_hold_says_on_its_page_what_to_do(
    service: Live, changes: dict[str, str], found: str
) -> None:
    fields = challenged(service)
    reply = posted(service, {**fields, "signature": signed(fields), **changes})
    assert reply.status == 401
    assert found in reply.body.decode()
    assert "sign" in reply.body.decode()
    assert f'href="/miners/{OWN}/own"' in reply.body.decode()


def test_a_signature_shows_the_view_of_its_hotkey_alone(service: Live) -> None:
    theirs = challenged(service, OTHER)
    for fields, signature in (
        (theirs, signed(theirs, OTHER, "other miner")),
        (theirs, signed(theirs, OWN, "other miner")),
    ):
        reply = posted(service, {**fields, "signature": signature})
        assert (reply.status, b"a signature that does not hold" in reply.body) == (401, True)


def test_a_name_that_is_no_key_is_shown_no_challenge(service: Live) -> None:
    reply = service.ask("/miners/nobody/own")
    assert (reply.status, reply.code) == (401, "bad-proof")


def test_a_challenge_is_of_the_origin_by_which_it_is_asked(state: Path) -> None:
    origins = ("https://board.example", "https://other.example")
    with live(state, origins=origins, proxies=("127.0.0.1",)) as service:
        for host, origin in (
            ("other.example", "https://other.example"),
            ("127.0.0.1:9999", "https://board.example"),
        ):
            body = service.ask(f"/miners/{OWN}/own", {"host": host}).body.decode()
            assert f'name="origin" value="{origin}"' in body


def test_a_proof_may_be_of_an_ed25519_key(service: Live) -> None:
    public = signer("own miner", "ed25519").public
    named = ss58_text(public.data)
    headers = service.proof(kind="ed25519", named=named)
    # it holds, though the state has no such miner
    assert service.ask(f"/api/v1/miners/{named}/epochs", headers).code == "no-such-miner"


def test_a_wallet_that_signs_without_its_brackets_is_believed(service: Live) -> None:
    found = signer("own miner", "sr25519")
    challenge = Challenge(service.address, OWN, int(time.time()) + 500)
    signature = found.sign_bytes(challenge.message)
    assert status(service, challenge.header(signature)) == 200


@pytest.mark.parametrize(
    "changes",
    [
        {"seconds": -1},
        {"seconds": 100_000},
        *({"named": name} for name in (OTHER, "5F", "<script>", "")),
        *({"origin": o} for o in ("https://evil.example", "http://127.0.0.1", "http://[", "//")),
        *({"origin": o} for o in ("http://[::1", "https://]", "http://:99999999")),
    ],
    ids=str,
)
def test_a_proof_that_does_not_hold_is_refused(service: Live, changes: dict[str, object]) -> None:
    reply = service.ask(ADDRESS, service.proof(**changes))  # type: ignore[arg-type]
    assert (reply.status, reply.code) == (401, "bad-proof")
    assert reply.headers["www-authenticate"] == "Tallystick"


@pytest.mark.parametrize(
    "origin", ["http://127.0.0.1:9999", "https://localhost", "http://localhost"]
)
def test_no_host_that_the_sender_names_makes_a_proof_hold(
    service: Live, state: Path, origin: str
) -> None:
    """A proof made for another service on the same name does not hold here."""
    named = {"host": origin.partition("//")[2]}
    reply = service.ask(ADDRESS, {**service.proof(origin=origin), **named})
    assert reply.status in {401, 421}
    with live(state, proxies=("127.0.0.1",)) as proxied:
        reply = proxied.ask(ADDRESS, {**proxied.proof(origin=origin), **named})
        assert (reply.status, reply.code) == (401, "bad-proof")


BOARD, SECOND = "https://board.example", "https://other.example:8443"


@pytest.mark.parametrize(
    ("settings", "held", "refused"),
    [
        (
            {"origins": (BOARD, SECOND), "proxies": ("127.0.0.1",)},
            (BOARD, SECOND, None, "HTTPS://Board.Example"),
            ("http://board.example", "https://other.example", "https://127.0.0.1"),
        ),
        ({"hosts": ("board.example",)}, (BOARD,), ("https://other.example",)),
    ],
)
def test_a_proof_holds_for_each_origin_that_the_settings_name_and_for_loopback(
    state: Path,
    settings: dict[str, tuple[str, ...]],
    held: tuple[str | None, ...],
    refused: tuple[str, ...],
) -> None:
    with live(state, **settings) as service:
        host = {"host": "board.example"} if "hosts" in settings else {}
        for status_of, origins in ((200, held), (401, refused)):
            for origin in origins:
                asked = service.ask(ADDRESS, {**service.proof(origin=origin), **host})
                assert (origin, asked.status) == (origin, status_of)


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value.replace("Tallystick ", "Tallystick"),
        lambda value: value + ', hotkey="x"',
        lambda value: value.replace("hotkey=", "Hotkey="),
        lambda value: value.replace("signature=", "nonce="),
        lambda value: value.replace('signature="', 'signature="00'),
        lambda value: value[:-2] + ('0"' if value[-2] != "0" else '1"'),
        lambda value: value.replace("sr25519", "ed25519"),
        lambda value: value.replace("sr25519", "rsa"),
        lambda value: value.replace('expires="', 'expires="0'),
        lambda value: value.replace('expires="', 'expires="9'),
        lambda value: value + "," * 3000,
        lambda _: "Tallystick",
        lambda _: "Tallystick x",
        lambda _: "Negotiate abc",
    ],
)
def test_a_proof_that_was_changed_is_refused(service: Live, change: object) -> None:
    assert callable(change)
    value = service.proof()["authorization"]
    assert status(service, value) == 200
    assert status(service, change(value)) == 401


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=80))
def test_no_text_is_a_proof(service: Live, text: str) -> None:
    assert status(service, f"Tallystick {text}") == 401


BASIC = "Basic " + base64.b64encode(f"operator:{OPERATOR}".encode()).decode()


@pytest.mark.parametrize(
    ("value", "code"),
    [
        *((value, None) for value in (f"Bearer {OPERATOR}", BASIC)),
        *((v, "not-the-operator") for v in ("Bearer x", "Bearer", "Basic !!!", "Basic")),
        ("Basic b3BlcmF0b3I6", "not-the-operator"),
    ],
)
def test_the_operators_secret_alone_shows_everything(
    service: Live, value: str, code: str | None
) -> None:
    reply = service.ask("/api/v1/miners", {"authorization": value})
    assert (reply.status, code and reply.code) == (401 if code else 200, code)


def test_nobody_is_the_operator_where_there_is_none(state: Path) -> None:
    with live(state, operator=None) as service:
        for value in (f"Bearer {OPERATOR}", "Bearer None", "Bearer "):
            assert service.ask("/api/v1/miners", {"authorization": value}).status == 401


def test_a_browser_is_asked_for_the_secret_in_one_place(service: Live) -> None:
    reply = service.ask("/operator")
    assert reply.status == 401
    assert reply.headers["www-authenticate"].startswith("Basic realm=")
    entered = service.ask("/operator", {"authorization": f"Bearer {OPERATOR}"})
    assert (entered.status, entered.headers["location"]) == (303, "/")


def test_an_operator_elsewhere_is_none(state: Path) -> None:
    """Behind a proxy the peer is the proxy; whom it speaks for is not this machine."""
    headers = {"authorization": f"Bearer {OPERATOR}", "x-forwarded-for": "203.0.113.9"}
    for proxies in ((), ("127.0.0.1",)):
        with live(state, proxies=proxies) as service:
            assert service.ask("/api/v1/miners", headers).status == 401
