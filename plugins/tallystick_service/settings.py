"""Settings of the service: whom it answers, what it shows, and its limits."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import attrs

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""Hosts that a service on loopback is asked for by, without a port."""
MIB = 1 << 20
_ANY_HOST = ("0.0.0.0", "::")  # noqa: S104  # compared


def hosts_of(host: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the hosts that a service is asked for by.

    Args:
        host: on which it listens.
        names: by which others call it.
    """
    own = () if host in _ANY_HOST else (f"[{host}]" if ":" in host else host,)
    return tuple(dict.fromkeys((*LOOPBACK, *own, *names)))


@attrs.frozen(kw_only=True)
class Settings:
    """Settings of the service.

    Attributes:
        hosts: names by which it may be asked; a request that names another host is refused, as a
            page of strangers may have led a browser here. One with a port is asked by that port,
            where something before the listener has another one.
        origins: by which those who prove who they are ask it, such as ``https://board.example``,
            where a proxy is before it; beside those of loopback. By default they follow from
            ``hosts`` and the port of the listener; `tallystick_service.origins` has them.
        operator: the secret by which a local operator sees everything; None where nobody does.
        embargo: epochs that must close after one before its weights are public.
        proof_seconds: maximum time from now to the end of a miner's own proof.
        body_bytes: maximum size of a request's body.
        rate: requests a second that one client may keep up.
        burst: requests that one client may send at once.
        clients: maximum number of clients that are told apart at a time.
        connections: maximum number of open connections.
        client_connections: maximum number of open connections of one client.
        seconds: maximum time for the head of a request, for its body, and for a client to take
            more of an answer.
        threads: maximum number of threads that read the state.
        cache_bytes: maximum size of the answers that are kept.
        processes: maximum number of processes that score posted records.
        scoring_seconds: maximum time to score a posted record.
        scoring_bytes: maximum memory of a process that scores.
        proofs: a folder of answers of ``rules prove --json``, each named by the digest of its rule
            set, such as ``sha256-….json``; None where pages show none.
        proxies: addresses of proxies whose ``X-Forwarded-For`` names the client.
        store: where processes that score open the state; by default its file, so that only a state
            in PostgreSQL needs it.
    """

    hosts: tuple[str, ...] = LOOPBACK
    origins: tuple[str, ...] = ()
    operator: str | None = attrs.field(default=None, repr=False)
    embargo: int = 1
    proof_seconds: int = 600
    body_bytes: int = MIB
    rate: float = 50
    burst: int = 200
    clients: int = 4096
    connections: int = 512
    client_connections: int = 64
    seconds: float = 10
    threads: int = 4
    cache_bytes: int = 64 * MIB
    processes: int = 2
    scoring_seconds: float = 10
    scoring_bytes: int = 2048 * MIB
    proofs: Path | None = None
    proxies: tuple[str, ...] = ()
    store: str | None = attrs.field(default=None, repr=False)
