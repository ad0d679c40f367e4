"""Extras: libraries that only some commands need, each with the command that installs it."""

from __future__ import annotations

EXTRAS = {
    "bittensor": ("bittensor", "a chain"),
    "sr25519": ("chain", "the keys of a chain's wallets"),
    "distributed": ("cluster", "a cluster"),
    "psycopg": ("postgres", "PostgreSQL"),
    "z3": ("prove", "proofs"),
    "anyio": ("serve", "a service"),
    "httpx": ("serve", "requests to peers"),
    "prometheus_client": ("serve", "metrics"),
    "starlette": ("serve", "a service"),
    "uvicorn": ("serve", "a service"),
    "altair": ("report", "the plots of a report"),
    "vl_convert": ("report", "the plots of a report"),
    "cryptography": ("trust", "keys of Ed25519"),
}
"""Extras by the module that is imported: the name of the extra, and what needs it."""


def missing(module: str) -> str:
    """Return the message that a library is not installed, with the command that installs it."""
    extra, purpose = EXTRAS[module]
    return f"found no {module}, expected it for {purpose}: run pip install 'tallystick[{extra}]'"
