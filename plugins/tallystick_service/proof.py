"""Proofs of who asks, as a request carries them: a signed challenge, or an operator's secret."""

from __future__ import annotations

import base64
import binascii
import hmac
import re
import time
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from tallystick.errors import TrustError
from tallystick_service.access import OPERATOR, PUBLIC, Viewer
from tallystick_service.answer import RefusedQuestionError
from tallystick_service.challenge import SCHEME, Challenge
from tallystick_service.clients import is_loopback
from tallystick_service.settings import Settings
from tallystick_state.trust.encoding import ss58_bytes
from tallystick_state.trust.keys import KEY_TYPES, PublicKey

if TYPE_CHECKING:
    from starlette.requests import Request

_HEADER = re.compile(r'\s*([a-z-]+)="([^"\\]*)"\s*(?:,|$)')
_SECONDS = re.compile("[1-9][0-9]{0,15}")
_SIGNATURE = re.compile("[0-9a-f]{128}")
_LONGEST = 2048
_PROXIED = frozenset({"forwarded", "via", "x-forwarded-for", "x-real-ip"})
_ASK = 'Basic realm="operator", charset="UTF-8"'


def viewer_of(
    request: Request, settings: Settings, hotkey: str = "", form: bytes | None = None
) -> Viewer:
    """Return who asks.

    Args:
        request: with a proof in its header, or none.
        settings: of the service.
        hotkey: of whom the form has a proof.
        form: the fields of a proof beside the hotkey, as a browser posts them; they take the place
            of the header. None of a question that has none.

    Raises:
        RefusedQuestionError: a proof is there, and does not hold.
    """
    origins = request.state.origins
    if form is not None:
        return _miner({"hotkey": hotkey, **_form(form)}, origins, settings)
    values = request.headers.getlist("authorization")
    if not values:
        return PUBLIC
    scheme, _, rest = values[0].partition(" ")
    if len(values) > 1 or len(values[0]) > _LONGEST:
        raise _bad("several proofs, or a long one", "one")
    if scheme.lower() == SCHEME.lower():
        return _miner(_fields(rest), origins, settings)
    if scheme.lower() in {"basic", "bearer"}:
        return _operator(scheme.lower(), rest.strip(), request, settings)
    raise _bad(f"the scheme {scheme[:30]}", f"{SCHEME}, or Basic or Bearer of an operator")


def challenge_of(request: Request, settings: Settings, hotkey: str) -> Challenge:
    """Return the challenge by which a miner proves its hotkey to the service as it is asked.

    Raises:
        RefusedQuestionError: the hotkey is none that signs.
    """
    if not is_key(hotkey):
        raise _bad(
            f"the hotkey {hotkey[:64]}", "an SS58 address", "ask for the one that you sign by"
        )
    # those of the guard: of what the request says no more is taken than which of them it means
    host, origins = request.headers.get("host", "").lower(), sorted(request.state.origins)
    named = [origin for origin in origins if urlsplit(origin).netloc == host]
    # of http and https of one host the latter, which sorts last
    origin = named[-1] if named else [*settings.origins, *origins][0]
    return Challenge(origin, hotkey, int(time.time()) + settings.proof_seconds)


def is_key(hotkey: str) -> bool:
    """Return whether a hotkey is an SS58 address, so that somebody can sign by it."""
    try:
        ss58_bytes(hotkey)
    except ValueError:
        return False
    return True


def _miner(fields: Mapping[str, str], origins: Collection[str], settings: Settings) -> Viewer:
    challenge, signature = _challenge(fields)
    # the guard's, of the listener: the host that a request names is its sender's choice
    if challenge.origin.lower() not in origins:
        expected = f"one for {' or '.join(sorted(origins))}"
        raise _bad(f"a proof for {challenge.origin}", expected, "sign its origin")
    left = challenge.expires - time.time()
    if not 0 < left <= settings.proof_seconds:
        expected = f"one that ends within {settings.proof_seconds} s"
        raise _bad("a proof that is over, or holds for too long", expected)
    try:
        key = PublicKey(challenge.key_type, ss58_bytes(challenge.hotkey))
        holds = key.verifies(challenge.message, signature)
    except ValueError:
        raise _bad(f"the hotkey {challenge.hotkey[:64]}", "an SS58 address") from None
    except TrustError as error:
        raise _bad(f"a key that cannot be verified ({error.code})", "another type of key") from None
    if not holds:
        raise _bad("a signature that does not hold", "one of the challenge by the hotkey")
    return Viewer("own", challenge.hotkey)


def _form(body: bytes) -> Mapping[str, str]:
    """Return the fields of a form; of a signature as wallets print it."""
    if len(body) > _LONGEST:
        raise _bad(f"a form of {len(body)} bytes", f"at most {_LONGEST}")
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, strict_parsing=True)
    except ValueError:
        pairs = []
    fields = dict(pairs)
    if len(fields) != len(pairs) or "signature" not in fields or "hotkey" in fields:
        raise _bad("a form that cannot be read", "the fields of this page, once each")
    # a terminal breaks what is longer than its lines
    signature = "".join(fields["signature"].split()).lower().removeprefix("0x")
    return {**fields, "signature": signature}


def _fields(text: str) -> Mapping[str, str]:
    fields, at = dict[str, str](), 0
    while at < len(text):
        match = _HEADER.match(text, at)
        if match is None or match[1] in fields:
            raise _bad("a proof that cannot be read", 'name="value" once each, with commas')
        fields[match[1]], at = match[2], match.end()
    return fields


def _challenge(fields: Mapping[str, str]) -> tuple[Challenge, bytes]:
    names = {"hotkey", "key-type", "origin", "expires", "signature"}
    if fields.keys() != names:
        raise _bad(f"{', '.join(sorted(fields))[:100] or 'nothing'}", ", ".join(sorted(names)))
    key_type = next((kind for kind in KEY_TYPES if kind == fields["key-type"]), None)
    is_sound = _SECONDS.fullmatch(fields["expires"]) and _SIGNATURE.fullmatch(fields["signature"])
    if key_type is None or not is_sound or not fields["origin"].isprintable():
        expected = f"{' or '.join(KEY_TYPES)}, seconds since 1970, 128 hexadecimal digits"
        raise _bad("a proof that cannot be read", expected)
    challenge = Challenge(fields["origin"], fields["hotkey"], int(fields["expires"]), key_type)
    return challenge, bytes.fromhex(fields["signature"])


def _operator(scheme: str, text: str, request: Request, settings: Settings) -> Viewer:
    secret = text
    if scheme == "basic":
        try:
            secret = base64.b64decode(text, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError, ValueError):
            secret = ""
    # as the guard names it; a proxy that nobody trusts hides who it is
    host = "" if _PROXIED & {*request.headers} and not settings.proxies else request.state.client
    is_operator = settings.operator is not None and hmac.compare_digest(
        secret.encode(), settings.operator.encode()
    )
    if not is_operator or not is_loopback(host):
        raise ask_operator("a secret that is not the operator's")
    return OPERATOR


def ask_operator(found: str) -> RefusedQuestionError:
    """Return the refusal that has a browser ask for the operator's secret."""
    return RefusedQuestionError(
        "not-the-operator",
        found,
        "the secret that tallystick serve --operator prints, on the same machine",
        "send it as the password of the user operator",
        {"www-authenticate": _ASK},
    )


def _bad(found: str, expected: str, remedy: str = "") -> RefusedQuestionError:
    return RefusedQuestionError(
        "bad-proof",
        found,
        expected,
        remedy or "sign a new challenge: see docs/http-api.md",
        {"www-authenticate": SCHEME},
    )
