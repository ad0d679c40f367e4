"""Hotkeys of a simulated chain, each derived from a name: addresses alone, or with a key."""

from __future__ import annotations

import hashlib
from itertools import count

from tallystick_state.trust.encoding import ss58_text
from tallystick_state.trust.keys import Signer
from tallystick_state.trust.points import is_ristretto_key
from tallystick_state.trust.signers import of_seed

_ADDRESS = b"tallystick simulated address\0"
_SEED = b"tallystick simulated seed\0"


def hotkey_of(name: str) -> str:
    """Return the SS58 address of a name, of which nobody has the key; it needs no library.

    >>> hotkey_of("alice")[:2]
    '5G'

    Args:
        name: any text.
    """
    for number in count():
        data = hashlib.sha256(_ADDRESS + number.to_bytes(4, "big") + name.encode()).digest()
        if is_ristretto_key(data):
            return ss58_text(data)
    raise AssertionError  # one of about eight digests is a point


def signer_of(name: str) -> Signer:
    """Return the sr25519 key of a name, which anybody can derive; its address is another.

    Args:
        name: any text.

    Raises:
        TrustError: the library of sr25519 is missing.
    """
    return of_seed(hashlib.sha256(_SEED + name.encode()).digest())


def address_of(signer: Signer) -> str:
    """Return the hotkey of a key, as SS58."""
    return ss58_text(signer.public.data)
