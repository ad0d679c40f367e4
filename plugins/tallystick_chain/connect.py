"""Connections to a chain by its URL: a simulated one, or a real one through an SDK."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from urllib.parse import urlsplit

from tallystick.io.text import visible
from tallystick_chain.chain import Chain, ChainError, Refusal
from tallystick_state.trust.keys import Signer

SIMULATED = "simulate"
"""Beginning of the URL of a simulated chain, before the path of the file that it begins with."""
SDKS = {"sdk11": "tallystick_chain.sdk11", "sdk10": "tallystick_chain.sdk10"}
"""Adapters by the beginning of a URL: the module that connects, by the SDK of that version."""


def connect(url: str, key: str | Signer) -> Chain:
    """Return a chain as the validator of a key sees it.

    Args:
        url: ``simulate:FILE``, the simulated chain that begins with a file, and is shared by all
            processes of the machine that name the file;
            ``sdk11:NETWORK`` or ``sdk10:NETWORK``, where the network is a name that the SDK
            knows, such as ``finney``, or the ``ws://`` or ``wss://`` URL of a node.
        key: the validator's hotkey, which can only read a real chain's blocks if the adapter
            allows it, or what signs with it.

    Raises:
        ChainError: the URL is none of these.
        TallystickError: the SDK is not installed.
    """
    path = path_in(url)
    if path is not None:
        from tallystick_chain.simulated.shared_chain import SharedChain

        return SharedChain(Path(path)).as_hotkey(key)
    defect = url_defect(url)
    if defect is not None:
        raise ChainError(defect, Refusal.UNREACHABLE)
    kind, _, network = url.partition(":")
    chain: Chain = import_module(SDKS[kind]).connect(network, key)
    return chain


def path_in(url: str) -> str | None:
    """Return the path of the file in a URL of a chain; None where it has none."""
    kind, _, path = url.partition(":")
    return path if kind == SIMULATED and path and not path.startswith("//") else None


def url_defect(url: str) -> str | None:
    """Return why a URL can be none of a chain; None where it can. Nobody is asked.

    Args:
        url: as `connect` takes it.
    """
    kind, _, network = url.partition(":")
    try:
        parts = urlsplit(network)
        is_node = parts.scheme in {"ws", "wss"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_node = False
    is_name = bool(network) and "://" not in network
    if path_in(url) is not None or (kind in SDKS and (is_name or is_node)):
        return None
    return (
        f"found the chain {visible(url)!r}, expected {SIMULATED}:FILE with the TOML file of a "
        "simulated one, sdk11:NETWORK or sdk10:NETWORK"
    )
