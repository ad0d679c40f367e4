"""Challenge: the text that a miner signs by its hotkey to see its own view; no cookie is needed.

::

    tallystick view 1
    origin https://board.example
    hotkey 5F…
    expires 1795424400

It is sent as ``Authorization: Tallystick hotkey="5F…", key-type="sr25519",
origin="https://board.example", expires="1795424400", signature="…"``. It holds until it expires, at
most `Settings.proof_seconds` from now, and for this origin alone. Who copies it meanwhile sees what
the miner may see of itself, and changes nothing.
"""

from __future__ import annotations

import attrs

from tallystick_state.trust.keys import KeyType, Signer

SCHEME = "Tallystick"
"""The scheme of ``Authorization`` of a miner's proof."""


@attrs.frozen
class Challenge:
    """The text that a miner signs to see its own view.

    Attributes:
        origin: of the service, such as ``https://board.example``.
        hotkey: of the miner, as SS58.
        expires: when the proof ends, in seconds since 1970.
        key_type: of the hotkey.
    """

    origin: str
    hotkey: str
    expires: int
    key_type: KeyType = "sr25519"

    @property
    def message(self) -> bytes:
        """The bytes that are signed; no transaction of a chain begins so."""
        lines = (
            "tallystick view 1",
            f"origin {self.origin}",
            f"hotkey {self.hotkey}",
            f"expires {self.expires}",
        )
        return "\n".join(lines).encode()

    def header(self, signature: bytes) -> str:
        """Return the value of ``Authorization``."""
        return (
            f'{SCHEME} hotkey="{self.hotkey}", key-type="{self.key_type}", '
            f'origin="{self.origin}", expires="{self.expires}", signature="{signature.hex()}"'
        )

    @classmethod
    def signed(cls, signer: Signer, origin: str, hotkey: str, expires: int) -> str:
        """Return the value of ``Authorization`` of a proof by a signer of a hotkey."""
        challenge = cls(origin, hotkey, expires, signer.public.type)
        return challenge.header(signer.sign(challenge.message))
