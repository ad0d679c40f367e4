"""Configuration of the daemon: the file ``validator.toml``, read strictly.

Every key is known, every value of its kind, every path relative to the folder of the file; what is
wrong is told with file, line and path. `Configuration` is a value: the daemon compares two of them
to find what a SIGHUP changed, and what of it needs a restart.
"""

# ruff: noqa: RUF009  # `_at` makes a field of attrs

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.errors import InputError
from tallystick.io.paths import PathLike, path_of
from tallystick.io.text import visible
from tallystick.rules.toml import Document
from tallystick.rules.toml_source import check_source, read_source
from tallystick_chain.bounded_chain import DEADLINE_SECONDS
from tallystick_chain.connect import path_in, url_defect
from tallystick_chain.network import Network
from tallystick_validator.intake import MAX_WAITING_BYTES

if TYPE_CHECKING:
    from tallystick_state.trust.keys import Signer

POLL_SECONDS = 6.0
"""Time between two looks at the chain, by default, in seconds: half a block of a real one."""
LEVELS: Mapping[str, int] = MappingProxyType(
    {
        "debug": logging.DEBUG,
        "info": logging.INFO,
        "warning": logging.WARNING,
        "error": logging.ERROR,
    }
)
"""Levels of the log by their names in the file."""
LIVE = ("log_level", "poll_seconds", "sets_weights")
"""Attributes that a SIGHUP changes at once; every other one needs a restart."""
_EXPECTED = "the configuration of a daemon"
_OF_NETWORK = ("rounds", "epochs", "groups", "miners")
_SIMULATED = "//"
"""Beginning of the name of a key that anybody can derive, for a simulated chain."""


_PLACE = "place"


def _at(place: str, default: object = None, converter: Callable[[Any], Any] | None = None) -> Any:  # noqa: ANN401  # of any type
    """Return an attribute whose value stands at a place of the file; without a default, a path."""
    where = tuple(place.split("."))
    return attrs.field(default=default, converter=converter, metadata={_PLACE: where})


@attrs.frozen(kw_only=True)
class Options:
    """Options of a validator: its work beside closing epochs, and how often it looks.

    Attributes:
        records: a folder whose files are taken; None without.
        attributes: a file of what rules ask of miners and rounds beside the chain; None without.
        peers: addresses of other validators' services, in a network with an exchange.
        adoptions: a folder of adoptions; None without.
        checkpoints: the folder of checkpoints; None for one in that of the daemon.
        sets_weights: whether rows are sent.
        poll_seconds: time between two looks at the chain.
        waiting_bytes: the most that the intake may keep.
    """

    records: Path | None = _at("intake.folder")
    attributes: Path | None = _at("validator.attributes")
    peers: tuple[str, ...] = _at("exchange.peers", (), tuple)
    adoptions: Path | None = _at("validator.adoptions")
    checkpoints: Path | None = _at("checkpoints.folder")
    sets_weights: bool = _at("weights.set", True)
    poll_seconds: float = _at("chain.poll_seconds", POLL_SECONDS, float)
    waiting_bytes: int = MAX_WAITING_BYTES


@attrs.frozen(kw_only=True)
class Configuration(Options):
    """The content of ``validator.toml``: the options of its validator, and all else of a daemon.

    Attributes:
        path: of the file.
        state: of the store: a path or a URL.
        network: the network file; or the network, where it is part of this file.
        folder: of the daemon's own files.
        url: of the chain.
        key: the file of the hotkey; or its SS58 address, which signs nothing; or ``//NAME``, a key
            for a simulated chain.
        deadline_seconds: longest time of a call of the chain.
        socket: the name of the Unix socket that takes posts; None without.
        checkpoint_key: a key file that signs them; None: nobody does.
        password_file: of that key; None without.
        serves: whether the service runs.
        host: on which it listens.
        port: on which it listens; 0 takes a free one.
        allow_hosts: names by which others call it.
        log_level: the least that is logged.
    """

    path: Path
    state: str
    network: Path | Network
    folder: Path
    url: str
    key: str | Path
    deadline_seconds: float = _at("chain.deadline_seconds", DEADLINE_SECONDS, float)
    socket: Path | None = _at("intake.socket")
    checkpoint_key: Path | None = _at("checkpoints.key")
    password_file: Path | None = _at("checkpoints.password_file")
    serves: bool = False
    host: str = _at("service.host", "127.0.0.1")
    port: int = _at("service.port", 8640)
    allow_hosts: tuple[str, ...] = _at("service.allow_hosts", (), tuple)
    log_level: str = _at("log.level", "info")

    @classmethod
    def load(cls, path: PathLike) -> Configuration:
        """Return the content of a file.

        Raises:
            InputError: the file cannot be read, or says something else; the message has the file,
                the line, the path of the value, and what was expected.
        """
        file = path_of(path, _EXPECTED)
        source = read_source(file, _EXPECTED)
        check_source(source, "validator-1")
        configuration = _configuration(file, source)
        _check(configuration, source)
        return configuration

    def signer(self) -> Signer | None:
        """Return the key of the hotkey; None where only its address is known.

        Raises:
            InputError: the file of the wallet cannot be read.
            TrustError: it holds no key, or a library is missing.
        """
        if isinstance(self.key, Path):
            from tallystick_state.trust.signers import read_wallet  # loads what signs

            return read_wallet(self.key)
        if self.key.startswith(_SIMULATED):
            from tallystick_chain.simulated.hotkeys import signer_of

            return signer_of(self.key.removeprefix(_SIMULATED))
        return None

    def checkpoint_signer(self) -> Signer | None:
        """Return the key that signs checkpoints; None without.

        Raises:
            InputError: a file cannot be read.
            TrustError: others can read a file, or the password does not open the key.
        """
        key, file = self.checkpoint_key, self.password_file
        if key is None:
            return None
        from tallystick_state.cli.options import password_of
        from tallystick_state.trust.signers import read_key

        # nobody is there to be asked
        return read_key(key, lambda: password_of(key, file) if file is not None else b"")


def _network(folder: Path, source: Document) -> Path | Network:
    """Return the path of the network file, or the network of this file.

    Raises:
        InputError: both or none of them are there, or the network is none.
    """
    tables = source.data
    named, is_here = tables["validator"].get("network"), "network" in tables
    if (named is None) != is_here:
        found = "two networks" if is_here else "no network"
        expected = "one of validator.network, a file, and a table [network] here"
        raise source.error(("validator",), f"found {found}, expected {expected}")
    if not isinstance(named, str):
        return Network.of(source)
    for table in (*_OF_NETWORK, "weights"):
        if table in tables and (table != "weights" or "at" in tables[table]):
            path = (table, "at") if table == "weights" else (table,)
            raise source.error(path, f"found it beside validator.network, expected it in {named}")
    return folder / named


def _key(folder: Path, key: str) -> str | Path:
    """Return a key that is an address or the name of a simulated one; else the path of its file."""
    from tallystick_state.trust.encoding import ss58_bytes

    try:
        if not key.startswith(_SIMULATED):
            ss58_bytes(key)
    except ValueError:
        return folder / key
    return key


def _configuration(file: Path, source: Document) -> Configuration:
    folder, tables = file.absolute().parent, source.data
    validator, chain = tables["validator"], tables["chain"]
    state, url, mebibytes = validator["state"], chain["url"], MAX_WAITING_BYTES >> 20
    options: dict[str, Any] = {}
    for field in attrs.fields(Configuration):
        table, key = field.metadata.get(_PLACE, ("", ""))
        if key in tables.get(table, ()):
            value = tables[table][key]
            options[field.name] = folder / value if field.default is None else value
    path = path_in(url)
    return Configuration(
        path=file,
        state=state if "://" in state else str(folder / state),
        network=_network(folder, source),
        folder=folder / validator["folder"],
        url=url if path is None else url.removesuffix(path) + str(folder / path),
        waiting_bytes=tables.get("intake", {}).get("waiting_mebibytes", mebibytes) << 20,
        serves="service" in tables,
        key=_key(folder, chain["key"]),
        **options,
    )


def _check(configuration: Configuration, source: Document) -> None:
    """Refuse values that no daemon can use, or that do not go together.

    Raises:
        InputError: the first of them.
    """
    for table, values in source.data.items():
        for key, value in values.items() if isinstance(values, dict) else ():
            if isinstance(value, str) and value.startswith("~"):
                expected = "a path without ~, which a shell alone knows: write the folder out"
                raise source.error((table, key), f"found {visible(value)!r}, expected {expected}")
    defect = url_defect(configuration.url)
    if defect is not None:
        raise source.error(("chain", "url"), defect)
    if configuration.password_file is not None and configuration.checkpoint_key is None:
        expected = "none without checkpoints.key"
        raise source.error(("checkpoints", "password_file"), f"found a file, expected {expected}")


def reread(current: Configuration) -> tuple[Configuration, tuple[str, ...], tuple[str, ...]]:
    """Return the configuration of now with what may change live, and the names of what differs.

    Returns:
        The configuration to go on with, the names of what it changed, and of what needs a restart.

    Raises:
        InputError: the file cannot be read: nothing changes.
    """
    if not current.path.is_file():
        # a pipe would be waited for
        raise InputError(f"{current.path}: found no file, expected {_EXPECTED}: put it back")
    newer = Configuration.load(current.path)
    names = [field.name for field in attrs.fields(Configuration)]
    differ = [name for name in names if getattr(current, name) != getattr(newer, name)]
    live = {name: getattr(newer, name) for name in differ if name in LIVE}
    rest = tuple(name for name in differ if name not in LIVE)
    return attrs.evolve(current, **live), tuple(live), rest
