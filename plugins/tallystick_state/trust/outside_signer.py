"""A signer that is a command: a hardware wallet, an encrypted wallet, a service.

It reads the bytes to sign from its standard input and writes the signature to its standard output,
in hexadecimal digits or base64. What it asks its user goes to the terminal. Nothing that it gives
is taken unverified.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import tempfile

import attrs

from tallystick.errors import TrustError
from tallystick_state.trust.encoding import base64_bytes
from tallystick_state.trust.keys import PublicKey
from tallystick_state.trust.sr25519 import wrapped

MOST_BYTES = 1024
"""So much is read of what a command writes."""

_HEX = re.compile(r"(?:0x)?([0-9a-fA-F]{128})")


@attrs.frozen
class OutsideSigner:
    """A command that signs by a key which this process never sees.

    Attributes:
        public: the key.
        words: the command and its arguments; no shell reads them.
    """

    public: PublicKey
    words: tuple[str, ...]

    @classmethod
    def of(cls, command: str, public: PublicKey) -> OutsideSigner:
        """The signer of a command line, whose words may be in quotes.

        Raises:
            TrustError: there is no word.
        """
        try:
            words = tuple(shlex.split(command))
        except ValueError:
            words = ()
        if not words:
            message = f"found {command!r}, expected a command and its arguments"
            raise TrustError(message, code="signer-failed")
        return cls(public, words)

    def sign(self, message: bytes) -> bytes:
        """What the command gives for a message, which ``public`` verifies.

        For sr25519 it reads the message inside ``<Bytes>…</Bytes>``, which wallets wrap no second
        time.

        Raises:
            TrustError: the command fails, or gives no signature of the message by the key.
        """
        signature = self._signature(wrapped(message) if self.public.type == "sr25519" else message)
        if not self.public.verifies(message, signature):
            raise self._failed(f"gave no signature by {self.public}")
        return signature

    def _signature(self, message: bytes) -> bytes:
        text = self._answer(message)
        found = _HEX.fullmatch(text)
        if found:
            return bytes.fromhex(found[1])
        try:
            return base64_bytes(text, self.words[0])
        except TrustError:
            raise self._failed("gave something else") from None

    def _answer(self, message: bytes) -> str:
        # a file and no pipe, so that neither waits for the other
        with tempfile.TemporaryFile() as given:
            given.write(message)
            given.seek(0)
            try:
                process = subprocess.Popen(  # noqa: S603  # the command that the user names
                    self.words, stdin=given, stdout=subprocess.PIPE
                )
            except (OSError, ValueError) as error:
                raise self._failed(f"cannot be started ({error})") from error
        with process:
            assert process.stdout is not None  # noqa: S101  # it is a pipe
            data = process.stdout.read(MOST_BYTES + 1)
            if len(data) > MOST_BYTES:
                process.kill()
                raise self._failed(f"gave more than {MOST_BYTES} bytes")
        if process.returncode:
            raise self._failed(f"ended with the exit status {process.returncode}")
        try:
            return data.decode("ascii").strip()
        except UnicodeDecodeError:
            raise self._failed("gave bytes that are no text") from None

    def _failed(self, reason: str) -> TrustError:
        message = f"{self.words[0]}: {reason}, expected a signature in hexadecimal digits or base64"
        return TrustError(message, code="signer-failed")
