"""SDK 10: a node through `bittensor` 10.5.

Of the SDK this takes what passes integers on: storage, calls of the runtime, and signed calls. Its
metagraph has stakes as 32-bit floats, its reads turn errors of a node into defaults, it remembers
hashes of blocks that a fork took back, its gate for a row reads another mechanism's block and is
one block late, and its responses are true when they have failed; so none of these is used.

The SDK sends a call again when its connection is lost. What comes of that is unknown, whatever it
says; a call is signed once, so that the chain takes it at most once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from tallystick_chain.chain import ChainError, Receipt, Refusal
from tallystick_chain.sdk import (
    OTHER_NODES,
    PALLET,
    CallSigner,
    SdkChain,
    failed,
    installed,
    public_endpoint,
)
from tallystick_chain.submission import MORTAL_BLOCKS
from tallystick_state.trust.keys import Signer

MAJOR = 10
_MISSING_HASH = f"0x{'0' * 64}"


def connect(network: str, key: str | Signer, **options: Any) -> SdkChain:  # noqa: ANN401  # of the SDK
    """Return the chain of a network; the first call connects.

    Args:
        network: ``finney``, ``test`` or ``local``, or the ``ws://`` or ``wss://`` URL of a node.
        key: what signs as the validator's hotkey; or its address, which only reads.
        options: of the SDK's `Subtensor`, such as ``fallback_endpoints``, nodes to ask where the
            first does not answer, and ``archive_endpoints``, about older blocks: none unless they
            are named here.

    Raises:
        TallystickError: the SDK is not installed, or is another major version.
        TrustError: the key is of another scheme than sr25519.
    """
    sdk = installed(MAJOR, "bittensor>=10.5,<11")
    options = {**{name: [] for name in OTHER_NODES}, "retry_forever": False, **options}
    return SdkChain(public_endpoint(network), key, lambda: _Node(sdk.Subtensor(network, **options)))


class _Node:
    """A node as the SDK's `Subtensor` reaches it: a `tallystick_chain.sdk.Node`."""

    def __init__(self, subtensor: Any) -> None:  # noqa: ANN401  # of the SDK
        self._subtensor, self._substrate = subtensor, subtensor.substrate

    def best(self) -> int:
        return int(self._substrate.get_block_number(None))

    def finalized(self) -> int:
        return int(self._substrate.get_block_number(self._substrate.get_chain_finalised_head()))

    def spec_version(self) -> int:
        head = self._substrate.get_chain_head()
        return int(self._substrate.get_block_runtime_info(head)["specVersion"])

    def seconds_per_block(self) -> float:
        return int(_plain(self._subtensor.query_constant("Aura", "SlotDuration"))) / 1000

    def endpoint(self) -> str:
        return str(getattr(self._substrate, "url", None) or self._subtensor.chain_endpoint)

    def block_hash(self, block: int) -> str:
        # never a remembered one, which a fork may have taken back
        block_hash = self._asked("chain_getBlockHash", [block])
        if block_hash is None or block_hash == _MISSING_HASH:
            raise ChainError(f"found no block {block}", Refusal.NO_BLOCK)
        return str(block_hash)

    def values(self, items: Sequence[Sequence[Any]], block: int, pallet: str = PALLET) -> list[Any]:
        block_hash = self.block_hash(block)
        return [self._value(pallet, name, key, block_hash) for name, *key in items]

    def _value(self, pallet: str, name: str, key: list[Any], block_hash: str) -> Any:  # noqa: ANN401  # any item
        """Return an item of the storage.

        The SDK's own query takes every error of a node for an item that is not set, and returns the
        item's default. So the node is asked without it, and the query only for a default.
        """
        place = self._substrate.create_storage_key(pallet, name, key, block_hash=block_hash)
        data = self._asked("state_getStorageAt", [place.to_hex(), block_hash])
        if data is None:
            return _plain(self._substrate.query(pallet, name, key, block_hash=block_hash))
        octets = bytes.fromhex(data[2:])
        return _plain(self._substrate.decode_scale(place.value_scale_type, octets))

    def _asked(self, method: str, parameters: list[object]) -> Any:  # noqa: ANN401  # JSON
        return self._substrate.rpc_request(method, parameters)["result"]

    def entries(self, pallet: str, name: str, key: int, block: int) -> Iterable[tuple[Any, Any]]:
        block_hash = self.block_hash(block)
        entries = self._substrate.query_map(pallet, name, [key], block_hash=block_hash)
        return [(_plain(one), _plain(value)) for one, value in entries]

    def call(self, name: str, netuid: int, block: int) -> Any:  # noqa: ANN401  # any answer
        block_hash, api = self.block_hash(block), "SubnetInfoRuntimeApi"
        return _plain(self._substrate.runtime_call(api, name, [netuid], block_hash))

    def close(self) -> None:
        self._subtensor.close()

    def seal(self, **row: Any) -> tuple[bytes, int]:  # noqa: ANN401  # of the SDK
        from bittensor.core.extrinsics.weights import get_encrypted_commit_v2

        sealed: tuple[bytes, int] = get_encrypted_commit_v2(**row)
        return sealed

    def send(
        self, pallet: str, name: str, arguments: Mapping[str, Any], signer: CallSigner
    ) -> Receipt:
        call = self._substrate.compose_call(
            call_module=pallet, call_function=name, call_params=arguments
        )
        response = self._subtensor.sign_and_send_extrinsic(
            call=call,
            wallet=_CallWallet(signer),
            sign_with="hotkey",
            use_nonce=True,
            nonce_key="hotkey",
            period=MORTAL_BLOCKS,
            raise_error=False,
            wait_for_inclusion=True,
            wait_for_finalization=True,
        )
        block_hash = getattr(response.extrinsic_receipt, "block_hash", None)
        # the response itself is true also when it has failed
        if response.success is not True:
            return failed(_name_of(response.error), str(response.message), block_hash)
        return Receipt("included", block_hash=block_hash)


@attrs.frozen
class _CallWallet:
    """A wallet with nothing but an open hotkey."""

    hotkey: CallSigner

    def unlock_hotkey(self) -> CallSigner:
        """Return the hotkey, which is open."""
        return self.hotkey


def _plain(value: Any) -> Any:  # noqa: ANN401  # of the SDK
    """Return a value without the object that carries it."""
    return getattr(value, "value", value)


def _name_of(error: Any) -> str | None:  # noqa: ANN401  # of the SDK
    """Return the chain's name of an error: a key of a mapping, or the name of an error's class."""
    if isinstance(error, dict):
        name = error.get("name")
        return None if name is None else str(name)
    return None if error is None else type(error).__name__
