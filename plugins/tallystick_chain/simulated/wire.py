"""Messages between a simulated chain's process and its clients: one JSON object a line.

A client begins with the call ``hello``, which names its hotkey and is answered by a challenge. A
request names a call with its arguments; the answer has its number, and a value or an error. A call
that writes is signed where the client has a key: the bytes are those of `signed_bytes`, so that a
signature is good for one request of one connection alone.
"""

from __future__ import annotations

import hashlib
import inspect
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from tallystick_chain.chain import ChainError, Refusal

PROTOCOL = 1
"""The version of the messages."""
MAX_REQUEST_BYTES = 1 << 20
"""Maximum size of a request, in bytes, with the end of its line."""
MAX_ANSWER_BYTES = 1 << 24
"""Maximum size of an answer, in bytes, with the end of its line."""
SCHEME = "simulate://"
"""The beginning of the URL of a simulated chain."""
BAD_REQUEST = "bad-request"
"""The code of a request that is none; the connection ends with its answer."""

_SIGNED = b"tallystick simulated call\0"
_Value = TypeVar("_Value")


class Request(msgspec.Struct, forbid_unknown_fields=True):
    """A request.

    Attributes:
        id: its number, which its answer has too.
        call: the name of what is called.
        arguments: an object.
        signature: of `signed_bytes`, by the hotkey; None: not signed.
    """

    id: int
    call: str
    arguments: msgspec.Raw = msgspec.Raw(b"{}")
    signature: bytes | None = None


class CallError(msgspec.Struct):
    """The reason for which there is no value.

    Attributes:
        code: one of `Refusal`, or `BAD_REQUEST`.
        message: what was found.
    """

    code: str
    message: str

    @classmethod
    def of(cls, error: ChainError) -> CallError:
        """Return the error of a chain, without its remedy, which the other side has too."""
        return cls(error.code, error.message)

    def error(self) -> ChainError:
        """Return the error as a chain raises it."""
        known = {code.value: code for code in Refusal}
        return ChainError(self.message, known.get(self.code, Refusal.OTHER))


class Answer(msgspec.Struct, omit_defaults=True):
    """An answer.

    Attributes:
        id: of the request; 0 where it has none that can be read.
        value: what the call returns.
        error: why it returns nothing.
    """

    id: int
    value: msgspec.Raw = msgspec.Raw(b"null")
    error: CallError | None = None


class Hello(msgspec.Struct, forbid_unknown_fields=True):
    """The arguments of the first call of a connection.

    Attributes:
        protocol: `PROTOCOL`.
        hotkey: of the validator; None: of who only steers the chain.
    """

    protocol: int
    hotkey: str | None = None


class Challenge(msgspec.Struct):
    """The answer to `Hello`.

    Attributes:
        challenge: 32 bytes that no other connection has.
    """

    challenge: bytes


def signed_bytes(challenge: bytes, request: Request) -> bytes:
    """Return the bytes that a signature of a request is of."""
    parts = (challenge, request.id.to_bytes(8, "big"), request.call.encode(), request.arguments)
    digest = hashlib.sha256()
    for part in parts:
        data = bytes(part)
        digest.update(len(data).to_bytes(8, "big") + data)
    return _SIGNED + digest.digest()


def line_of(message: Request | Answer) -> bytes:
    """Return a message as a line."""
    return msgspec.json.encode(message) + b"\n"


def decoded(data: bytes | msgspec.Raw, kind: type[_Value]) -> _Value:
    """Return the value of a JSON text.

    Raises:
        ValueError: it is something else; the message is the reason.
    """
    try:
        decoder = _decoders.get(kind)
        if decoder is None:
            with _learning:
                decoder = _decoders.setdefault(kind, msgspec.json.Decoder(kind))
        value: _Value = decoder.decode(data)
    except RecursionError:
        raise ValueError("nested too deep") from None
    except UnicodeDecodeError:
        raise ValueError("no UTF-8") from None
    return value


# one thread at a time: msgspec 0.22 crashes where two threads learn a type at the same time
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}
_learning = threading.Lock()


class Arguments:
    """The arguments of a method, as its signature names and types them.

    Args:
        method: a method whose annotations are types of JSON; of ``**changes``, an object.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        fields = list[Any]()
        self._open: str | None = None
        for name, parameter in inspect.signature(method, eval_str=True).parameters.items():
            if name == "self":
                continue
            if parameter.kind is parameter.VAR_KEYWORD:
                self._open = name
                fields.append((name, dict[str, Any]))
            elif parameter.default is parameter.empty:
                fields.append((name, parameter.annotation))
            else:
                fields.append((name, parameter.annotation, parameter.default))
        fields.sort(key=len)
        self._kind = msgspec.defstruct(method.__name__, fields, forbid_unknown_fields=True)

    def decode(self, data: msgspec.Raw) -> dict[str, Any]:
        """Return arguments by name.

        Raises:
            ValueError: they are not of the signature; the message is the reason.
        """
        value = decoded(data, self._kind)
        named = {name: getattr(value, name) for name in self._kind.__struct_fields__}
        return named | named.pop(self._open) if self._open else named
