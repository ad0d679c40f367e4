"""Assets: the files of the pages, each under a name that has its digest.

A name never gets other bytes, so a browser may keep them for ever.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import attrs

FOLDER = Path(__file__).parent / "static"
PREFIX = "/static/"
_DIGITS = 16
_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}
"""The kinds of files that are served; others in the folder are not."""


@attrs.frozen
class Asset:
    """A file of the pages.

    Attributes:
        address: its path on the service, with a part of its digest.
        body: its bytes.
        media_type: their kind.
    """

    address: str
    body: bytes
    media_type: str


def read_assets() -> dict[str, Asset]:
    """Return the files of the pages by their path in their folder, such as ``site.css``."""
    found = {}
    for path in sorted(FOLDER.rglob("*")):
        if path.suffix in _MEDIA_TYPES and path.is_file():
            name, body = path.relative_to(FOLDER), path.read_bytes()
            digest = hashlib.sha256(body).hexdigest()[:_DIGITS]
            address = f"{PREFIX}{name.with_suffix('').as_posix()}.{digest}{name.suffix}"
            found[name.as_posix()] = Asset(address, body, _MEDIA_TYPES[path.suffix])
    return found
