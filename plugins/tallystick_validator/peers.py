"""Peers: what a validator gives to others over HTTP, read-only, below ``/peer/v1``.

=======================  ======================================================================
``/status``              `Status`: who it is, of which network, and its newest closed epoch
``/batches/{epoch}``     `Digests`: the batches of an epoch that it has, whole and valid
``/batch/{digest}``      the bytes of a batch
``/closed/{epoch}``      `ClosedEpochDigests`: leaf with the roots of all steps, digest of rules
``/checkpoint``          the checkpoint that the validator has published last
=======================  ======================================================================

Batches have the records of all tasks, and leaves may have a salt. So a validator with a key gives
them to validators that are heard alone, which prove who they are as miners do to the service, by a
signed `Challenge`; status and checkpoint are for everyone.

Nothing of an address becomes the name of a file but 64 hexadecimal digits and a number. Answers
have no content encoding, no redirect and no state; what is not there is 404. The server of the
service cuts clients that are slow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import attrs
import msgspec

from tallystick.io.text import visible
from tallystick_service.answer import RefusedQuestionError
from tallystick_service.challenge import SCHEME
from tallystick_service.proof import viewer_of
from tallystick_service.server import check_installed
from tallystick_service.settings import Settings
from tallystick_validator.shelf import DIGEST, EPOCH, Shelf

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute


PREFIX = "/peer/v1"
"""Beginning of the paths of peers."""
MAX_BATCHES = 1024
"""Maximum number of batches of one epoch that a peer lists; more validators cannot vote."""
_JSONL = "application/jsonl"

_Text = Annotated[str, msgspec.Meta(max_length=256)]
_Sha256 = Annotated[str, msgspec.Meta(pattern=r"^sha256:[0-9a-f]{64}\Z")]
_Number = Annotated[int, msgspec.Meta(ge=0, lt=2**53)]


@attrs.frozen
class Status:
    """The first answer of a peer.

    Attributes:
        hotkey: of the validator, as it says.
        network: the digest of its network file.
        genesis: the digest of how its state began.
        epoch: its newest closed one; None before one.
    """

    hotkey: _Text
    network: _Sha256
    genesis: _Sha256
    epoch: _Number | None = None


_Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
Digests = Annotated[tuple[_Digest, ...], msgspec.Meta(max_length=MAX_BATCHES)]
"""The batches of an epoch that a peer has: SHA-256, 64 hexadecimal digits each, ascending."""


@attrs.frozen
class PeerAnswers:
    """The answers to peers.

    Attributes:
        shelf: the batches and the digests of closed epochs.
        status: gives the first answer; called in a thread.
        checkpoint: the file of the checkpoint; None where none is published.
        allows: whether a hotkey may have batches and leaves; None: everyone may.
    """

    shelf: Shelf
    status: Callable[[], Status]
    checkpoint: Path | None = None
    allows: Callable[[str], bool] | None = None

    def routes(self) -> Sequence[BaseRoute]:
        """Return the routes for peers, for an application of Starlette.

        Raises:
            InputError: Starlette is not installed.
        """
        check_installed()
        from starlette.routing import Route

        guarded = self._for_validators
        return [
            Route(f"{PREFIX}/status", self._status),
            Route(f"{PREFIX}/batches/{{epoch}}", guarded(self._batches)),
            Route(f"{PREFIX}/batch/{{digest}}", guarded(self._batch)),
            Route(f"{PREFIX}/closed/{{epoch}}", guarded(self._closed)),
            Route(f"{PREFIX}/checkpoint", self._published),
        ]

    def _for_validators(
        self, handler: Callable[[Request], Response]
    ) -> Callable[[Request], Response]:
        def answered(request: Request) -> Response:
            from starlette.responses import PlainTextResponse

            if self.allows is None:
                return handler(request)
            status = HTTPStatus.UNAUTHORIZED.value
            text = "found no proof, expected that of a validator's hotkey"
            try:
                hotkey = viewer_of(request, Settings()).hotkey
            except RefusedQuestionError as error:
                hotkey, status, text = "", error.status, str(error)
            if hotkey and self.allows(hotkey):
                return handler(request)
            if hotkey:
                status = HTTPStatus.FORBIDDEN.value
                text = f"found {visible(hotkey)}, expected a validator that the network hears"
            return PlainTextResponse(f"{text}\n", status, headers={"WWW-Authenticate": SCHEME})

        return answered

    def _status(self, _: Request) -> Response:
        return _answer(self.status())

    def _batches(self, request: Request) -> Response:
        epoch = _epoch_of(request)
        return _answer(None if epoch is None else self.shelf.digests(epoch)[:MAX_BATCHES])

    def _batch(self, request: Request) -> Response:
        digest = request.path_params["digest"]
        return _answer(self.shelf.find(digest) if DIGEST.fullmatch(digest) else None, _JSONL)

    def _closed(self, request: Request) -> Response:
        epoch = _epoch_of(request)
        return _answer(None if epoch is None else self.shelf.closed(epoch))

    def _published(self, _: Request) -> Response:
        is_there = self.checkpoint is not None and self.checkpoint.is_file()
        return _answer(self.checkpoint if is_there else None, "text/plain")


def _epoch_of(request: Request) -> int | None:
    text = request.path_params["epoch"]
    return int(text) if EPOCH.fullmatch(text) else None


def _answer(value: object, media_type: str = "application/json") -> Response:
    """Return a file, the JSON of another value, or that nothing is there."""
    from starlette.responses import FileResponse, PlainTextResponse, Response

    if value is None:
        return PlainTextResponse("not here\n", status_code=HTTPStatus.NOT_FOUND)
    if isinstance(value, Path):
        return FileResponse(value, media_type=media_type)
    return Response(msgspec.json.encode(value), media_type=media_type)
