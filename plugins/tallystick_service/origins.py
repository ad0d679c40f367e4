"""Origins: the names by which a service is asked, from its settings and the port of its listener.

A request says for itself which host it means, so nothing that it says decides for which origin a
proof holds.
"""

from __future__ import annotations

from functools import cached_property
from urllib.parse import urlsplit

import attrs

from tallystick_service.settings import LOOPBACK, Settings

_STANDARD = {"http": 80, "https": 443}


@attrs.frozen(slots=False)
class Origins:
    """The origins of a service.

    Attributes:
        settings: the names and origins that it has.
        port: of the listener; None where it has none, as a socket of Unix.
    """

    settings: Settings
    port: int | None

    @cached_property
    def allowed(self) -> frozenset[str]:
        """The origins for which a proof holds, in lower case."""
        found = {origin.lower() for origin in self.settings.origins}
        for host in map(_plain, self.settings.hosts):
            is_local = host in LOOPBACK
            if is_local or not self.settings.origins:
                found.update(self._of(host, is_local=is_local))
        return frozenset(found)

    @cached_property
    def hosts(self) -> frozenset[str]:
        """The names by which it may be asked, without ports."""
        return frozenset(_parts(place)[0] for place in self._places)

    def has_port(self, host: str, port: str) -> bool:
        """Return whether a host that a request names may have a port; empty: it has none."""
        if not port or self.port is None or self.settings.proxies:
            return True
        return int(port) == self.port or f"{_plain(host)}:{int(port)}" in self._places

    @cached_property
    def _places(self) -> frozenset[str]:
        origins = (urlsplit(origin.lower()).netloc for origin in self.settings.origins)
        return frozenset(map(_plain, (*self.settings.hosts, *origins)))

    def _of(self, host: str, *, is_local: bool) -> set[str]:
        name, port = _parts(host)
        if port:
            # the port of whatever stands before the service
            return {f"http://{name}:{port}", f"https://{name}:{port}"}
        here = f"http://{name}" if self.port in {None, 80} else f"http://{name}:{self.port}"
        # what has a name of its own may stand behind TLS
        return {here} if is_local else {here, f"https://{name}"}


def is_origin(text: str) -> bool:
    """Return whether a text is an origin: scheme, host, and a port that is not the usual one."""
    try:
        parts = urlsplit(text.lower())
        port = parts.port
    except ValueError:
        return False
    is_plain = text.lower() == f"{parts.scheme}://{parts.netloc}" and "@" not in parts.netloc
    is_usual = port == _STANDARD.get(parts.scheme) or parts.netloc.endswith(":")
    return parts.scheme in _STANDARD and bool(parts.hostname) and is_plain and not is_usual


def _plain(host: str) -> str:
    return host.lower().rstrip(".")


def _parts(place: str) -> tuple[str, str]:
    """Return the name and the port of a place; the port is empty where it has none."""
    name, mark, port = place.rpartition(":")
    return (
        (_plain(name), port)
        if mark and port.isdecimal() and not name.endswith(":")
        else (place, "")
    )
