"""Assets: the files of the pages, each under a name that has its digest.

A name never gets other bytes, so a browser may keep them for ever.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

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


@attrs.frozen
class Assets:
    """The files of the pages.

    Attributes:
        by_name: by the path in the folder, such as ``site.css``.
        by_address: by the path on the service.
        digest: of all of them.
    """

    by_name: Mapping[str, Asset]
    by_address: Mapping[str, Asset]
    digest: str

    @classmethod
    def of(cls, folder: Path = FOLDER) -> Assets:
        """Return the files of a folder, read once."""
        by_name = {}
        for path in sorted(folder.rglob("*")):
            if path.suffix in _MEDIA_TYPES and path.is_file():
                name = path.relative_to(folder).as_posix()
                by_name[name] = _asset(name, path.read_bytes(), _MEDIA_TYPES[path.suffix])
        addresses = {asset.address: asset for asset in by_name.values()}
        digest = hashlib.sha256("\n".join(sorted(addresses)).encode()).hexdigest()
        return cls(by_name, addresses, digest)

    def address(self, name: str) -> str:
        """Return the path of a file on the service, for templates.

        Raises:
            KeyError: there is no such file.
        """
        return self.by_name[name].address


def _asset(name: str, body: bytes, media_type: str) -> Asset:
    path, digest = PurePosixPath(name), hashlib.sha256(body).hexdigest()[:_DIGITS]
    return Asset(f"{PREFIX}{path.with_suffix('')}.{digest}{path.suffix}", body, media_type)
