"""Hotkey: the key of a validator, which signs its statements and, apart from them, its calls.

A statement is signed as every key of `tallystick_state.trust` signs: wrapped in
``<Bytes>…</Bytes>``, so that no statement can be taken for a call of the chain, whose bytes begin
with the number of a pallet and never with ``<``. A call is signed as it is, by the adapter of an
SDK alone. Signatures are random: nothing may be derived from one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from tallystick.errors import TallystickError, TrustError
from tallystick.extras import missing
from tallystick_state.trust.encoding import check_private, ss58_text
from tallystick_state.trust.keys import PublicKey, Signer, is_wrapped
from tallystick_state.trust.signers import is_encrypted_wallet, of_seed, read_wallet

WALLETS = Path("~/.bittensor/wallets")
"""The folder of wallets."""


@attrs.frozen
class Hotkey(Signer):
    """A hotkey that signs, statements and calls; its public key is of sr25519."""

    @classmethod
    def of_seed(cls, seed: bytes) -> Hotkey:
        """Return the hotkey of a seed of 32 bytes.

        Raises:
            TrustError: the library is missing.
        """
        return hotkey_of(of_seed(seed))

    @property
    def address(self) -> str:
        """The SS58 address of the hotkey, of any Substrate network (42)."""
        return ss58_text(self.public.data)

    def sign_call(self, payload: bytes) -> bytes:
        """Return a signature of the payload of a call of the chain.

        Raises:
            TrustError: the payload begins as a statement does.
        """
        if is_wrapped(payload):
            message = "found a call that begins with <Bytes> as statements do, expected another"
            raise TrustError(message, code="signer-failed")
        return self.sign_bytes(payload)


def hotkey_of(key: Signer) -> Hotkey:
    """Return the hotkey of what signs.

    Raises:
        TrustError: its key is not of sr25519, as that of a hotkey is.
    """
    if isinstance(key, Hotkey):
        return key
    if key.public.type == "sr25519":
        return Hotkey(key.public, key.sign_bytes)
    message = f"found a signer of {key.public}, expected the key of a hotkey, of sr25519"
    raise TrustError(message, code="unknown-key-type")


def of_wallet(
    name: str,
    hotkey: str = "default",
    *,
    path: Path = WALLETS,
    password: Callable[[], bytes] | None = None,
) -> Hotkey:
    """Return the hotkey of a wallet of the chain's tools; its coldkey is never read.

    Args:
        name: the wallet.
        hotkey: the name of the hotkey in it.
        path: the folder of wallets.
        password: asked where the file is encrypted; then an SDK opens it.

    Raises:
        InputError: there is no such file.
        TrustError: others can read it, it is no key, or the password does not open it.
        TallystickError: it is encrypted, and no SDK is installed.
    """
    folder = path.expanduser()
    file = folder / name / "hotkeys" / hotkey
    if not is_encrypted_wallet(file):
        return hotkey_of(read_wallet(file))
    check_private(file, "a private key")
    secret = password() if password is not None else b""
    if not secret:
        message = f"{file}: found an encrypted hotkey and no password, expected one"
        raise TrustError(message, code="wrong-password")
    wallet = _wallet_class()(name=name, hotkey=hotkey, path=str(folder))
    try:
        keypair = wallet.get_hotkey(password=secret.decode("utf-8"))
    except Exception as error:  # each SDK has errors of its own, none of which may show the secret
        message = f"{file}: the password does not open this key: try another"
        raise TrustError(message, code="wrong-password") from error
    if int(keypair.crypto_type) != 1:
        message = f"{file}: found a key of type {keypair.crypto_type}, expected sr25519 (1)"
        raise TrustError(message, code="unknown-key-type")
    # bytes, never text: an SDK takes text that begins with 0x for hexadecimal digits
    public = PublicKey("sr25519", bytes(keypair.public_key))
    return Hotkey(public, lambda data: bytes(keypair.sign(bytes(data))))


def _wallet_class() -> Any:  # noqa: ANN401  # of one of the SDKs
    try:
        import bittensor
    except ImportError as error:
        raise TallystickError(missing("bittensor")) from error
    return bittensor.Wallet
