"""Proofs of who asks, as a request carries them: a signed challenge, or an operator's secret."""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
import re
import time
from collections.abc import Collection, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING

from tallystick.errors import TrustError
from tallystick_service.access import OPERATOR, PUBLIC, Viewer
from tallystick_service.answer import RefusedQuestionError
from tallystick_service.challenge import SCHEME, Challenge
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


def viewer_of(request: Request, settings: Settings) -> Viewer:
    """Return who asks.

    Raises:
        RefusedQuestionError: a proof is there, and does not hold.
    """
    values = request.headers.getlist("authorization")
    if not values:
        return PUBLIC
    scheme, _, rest = values[0].partition(" ")
    if len(values) > 1 or len(values[0]) > _LONGEST:
        raise _bad("several proofs, or a long one", "one")
    if scheme.lower() == SCHEME.lower():
        return _miner(rest, request.state.origins, settings)
    if scheme.lower() in {"basic", "bearer"}:
        return _operator(scheme.lower(), rest.strip(), request, settings)
    raise _bad(f"the scheme {scheme[:30]}", f"{SCHEME}, or Basic or Bearer of an operator")


def _miner(text: str, origins: Collection[str], settings: Settings) -> Viewer:
    fields = _fields(text)
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
    if not is_operator or not _is_loopback(host):
        raise ask_operator("a secret that is not the operator's")
    return OPERATOR


def ask_operator(found: str) -> RefusedQuestionError:
    """Return the refusal that has a browser ask for the operator's secret."""
    return RefusedQuestionError(
        HTTPStatus.UNAUTHORIZED,
        "not-the-operator",
        found,
        "the secret that tallystick serve --operator prints, on the same machine",
        "send it as the password of the user operator",
        {"www-authenticate": _ASK},
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bad(found: str, expected: str, remedy: str = "") -> RefusedQuestionError:
    return RefusedQuestionError(
        HTTPStatus.UNAUTHORIZED,
        "bad-proof",
        found,
        expected,
        remedy or "sign the challenge anew: see docs/http-api.md",
        {"www-authenticate": SCHEME},
    )
