"""Client: asks a service, and believes what proofs and known keys vouch for.

A checkpoint is believed that a known key has signed, and that continues the one before it. What is
proved leads to such a checkpoint; what the service merely says is marked so in the names here.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from decimal import Decimal
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit

from tallystick.canonical import canonical_bytes
from tallystick.errors import InputError, TrustError
from tallystick.io.documents import parse_json
from tallystick.io.text import visible
from tallystick.json_values import JsonObject
from tallystick_service.challenge import Challenge
from tallystick_state.trust.checkpoint import Checkpoint, read_checkpoint
from tallystick_state.trust.keys import PublicKey, Signer
from tallystick_state.trust.merkle import Tree
from tallystick_state.trust.proof import read_proof

_LARGEST = 64 << 20
"""Maximum size of an answer, in bytes."""
_PROOF_S = 300
"""Time for which a proof of who asks holds, in seconds."""
_API = "/api/v1"


class Client:
    """A client of one service.

    It keeps one connection; threads need one client each.
    """

    def __init__(  # noqa: PLR0913  # what is known of a service
        self,
        address: str,
        *,
        keys: Iterable[PublicKey] = (),
        checkpoint: Checkpoint | None = None,
        signer: Signer | None = None,
        hotkey: str | None = None,
        timeout: float = 30,
    ) -> None:
        """Ask nothing yet.

        Args:
            address: the URL of the service, such as ``https://board.example``.
            keys: those whose signature on a checkpoint counts.
            checkpoint: one that was believed before, which later ones must continue.
            signer: of a miner's hotkey, to see what that miner may see of itself.
            hotkey: that one, as SS58.
            timeout: seconds for each answer.

        Raises:
            InputError: the address is none, or a signer comes without its hotkey.
        """
        parts = urlsplit(address)
        if parts.scheme not in {"http", "https"} or not parts.netloc or parts.path not in {"", "/"}:
            raise InputError(
                f"found the address {visible(address)}, expected http:// or https:// and a host"
            )
        if (signer is None) != (hotkey is None):
            raise InputError("found a signer or a hotkey alone, expected both or neither")
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = kind(parts.netloc, timeout=timeout)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._keys, self._believed = tuple(keys), checkpoint
        self._signer, self._hotkey = signer, hotkey
        self._proof: tuple[str, float] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    @property
    def believed(self) -> Checkpoint | None:
        """The newest checkpoint that was believed; keep it for the next client."""
        return self._believed

    def get(self, path: str, **parameters: str | int) -> JsonObject:
        """Return what the service says under an address, such as ``/api/v1/state``.

        Raises:
            InputError: it refuses, or cannot be asked.
        """
        query = f"?{urlencode(parameters)}" if parameters else ""
        return self._asked("GET", f"{path}{query}", None)

    def explain(self, record: bytes, rules: str = "") -> JsonObject:
        """Return every step behind the scores of a record, as the service says it.

        Args:
            record: one line of JSON.
            rules: ``name@version`` that the service knows; by default those of the state.

        Raises:
            InputError: the service refuses, or cannot be asked.
        """
        query = f"?{urlencode({'rules': rules})}" if rules else ""
        return self._asked("POST", f"{_API}/explain{query}", record)

    def miner(self, hotkey: str) -> JsonObject:
        """Return a miner as the service says it, as far as it lets the asker see.

        Raises:
            InputError: the service refuses, or cannot be asked.
        """
        return self.get(f"{_API}/miners/{quote(hotkey, safe='')}")

    def checkpoint(self) -> Checkpoint:
        """Return the checkpoint of the closed epochs, and believe it from now on.

        Raises:
            InputError: the service refuses, or cannot be asked.
            TrustError: no known key has signed it, or it does not continue the one before.
        """
        text = self.get(f"{_API}/checkpoint").get("checkpoint")
        return self._believe(read_checkpoint(str(text).encode()))

    def reputation(self, hotkey: str, skill_type: str, epoch: int) -> Decimal:
        """Return the proved reputation of a miner after a closed epoch.

        Raises:
            InputError: the service refuses, or cannot be asked.
            TrustError: the proof does not hold, or nobody known has signed its checkpoint.
        """
        return Decimal(self.row(epoch, "reputations", hotkey, skill_type)["next"])

    def thresholds(self, epoch: int) -> Mapping[str, Mapping[str, Decimal]]:
        """Return the proved thresholds that the epoch after a closed one began with, by type.

        Raises:
            InputError: the service refuses, or cannot be asked.
            TrustError: a proof does not hold, or nobody known has signed its checkpoint.
        """
        said = self.get(f"{_API}/epochs/{epoch + 1}")["thresholds"]
        return {
            skill_type: {
                name: Decimal(self.row(epoch, "thresholds", skill_type, name)["next"])
                for name in names
            }
            for skill_type, names in said.items()
        }

    def board(self, skill_type: str) -> JsonObject:
        """Return the leaderboard of a skill type, the reputation of each place proved.

        Who else belongs there is what the service says.

        Raises:
            InputError: the service refuses, or cannot be asked.
            TrustError: a proof does not hold, or says another reputation than the board.
        """
        board = self.get(f"{_API}/leaderboards/{quote(skill_type, safe='')}")
        if board["board"] and not board["epoch"]:
            message = "found a board of epoch 0, expected one of a later epoch, which can be proved"
            raise TrustError(message, code="unsigned")
        for place in board["board"]:
            proved = self.reputation(place["hotkey"], skill_type, board["epoch"] - 1)
            if proved != Decimal(place["reputation"]):
                raise TrustError(
                    f"found the reputation {place['reputation']} of {visible(place['hotkey'])} on "
                    f"the board, expected {proved:f}, which is proved",
                    code="row-missing",
                )
        return board

    def row(self, epoch: int, step: str, *key: str) -> Mapping[str, Any]:
        """Return the value of a row of a step of a closed epoch, proved.

        Raises:
            InputError: the service refuses, or cannot be asked.
            TrustError: the proof does not hold, or is of something else.
        """
        text = json.dumps(key, ensure_ascii=False)
        value = self.get(f"{_API}/proofs/row", epoch=epoch, step=step, key=text)
        proof = read_proof(canonical_bytes(value) + b"\n", "the proof")
        proof.check()
        self._believe(proof.checkpoint)
        if (proof.epoch, proof.step) != (epoch, step) or tuple(proof.row[:-1]) != key:
            raise TrustError("found the proof of another row, expected one", code="row-missing")
        found: Mapping[str, Any] = proof.row[-1]
        return found

    def _believe(self, checkpoint: Checkpoint) -> Checkpoint:
        """Return a checkpoint that known keys signed and that continues the believed one."""
        checkpoint.check_signed(self._keys)
        before = self._believed
        if before is not None and before != checkpoint:
            self._check_growth(before, checkpoint)
        self._believed = checkpoint
        return checkpoint

    def _check_growth(self, before: Checkpoint, checkpoint: Checkpoint) -> None:
        if before.origin != checkpoint.origin or before.size > checkpoint.size:
            raise TrustError(
                f"found {checkpoint.size} epochs of {checkpoint.origin}, expected at least the "
                f"{before.size} of {before.origin} that were there before",
                code="cut-back",
            )
        listed = self.get(f"{_API}/log")["leaves"]
        tree = Tree(map(bytes.fromhex, listed))
        for believed in (before, checkpoint):
            believed.check_log(tree)

    def _asked(self, method: str, path: str, body: bytes | None) -> JsonObject:
        headers = {"accept": "application/json", **self._authorization()}
        try:
            try:
                status, data = self._sent(method, path, body, headers)
            except (ConnectionError, HTTPException):
                # the service ends connections that are idle
                self._connection.close()
                status, data = self._sent(method, path, body, headers)
        except (OSError, HTTPException) as error:
            self._connection.close()
            raise InputError(
                f"found that {self._origin} cannot be asked ({error}), expected an answer: check "
                "the address, and that the service runs"
            ) from error
        try:
            value = parse_json(data)
        except ValueError:
            value = None
        if status != 200 or not isinstance(value, dict):  # of HTTP
            raise _refused(self._origin, status, value)
        return value

    def _sent(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        self._connection.request(method, path, body, dict(headers))
        response = self._connection.getresponse()
        data = response.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            self._connection.close()
            raise InputError(f"found an answer of more than {_LARGEST} bytes, expected a smaller")
        return response.status, data

    def _authorization(self) -> Mapping[str, str]:
        if self._signer is None or self._hotkey is None:
            return {}
        now = time.time()
        if self._proof is None or self._proof[1] - now < _PROOF_S / 2:
            expires = int(now) + _PROOF_S
            proof = Challenge.signed(self._signer, self._origin, self._hotkey, expires)
            self._proof = proof, expires
        return {"authorization": self._proof[0]}


def _refused(origin: str, status: int, value: object) -> InputError:
    error = value.get("error") if isinstance(value, dict) else None
    parts = error if isinstance(error, dict) else {}
    found, expected, remedy = (
        visible(str(parts.get(name, ""))[:500]) for name in ("found", "expected", "remedy")
    )
    return InputError(
        f"{origin} answers with the status {status}: found {found or 'a question'}, expected "
        f"{expected or 'another'}: {remedy or 'see docs/http-api.md'}"
    )
