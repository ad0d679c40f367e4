"""Certificates: how this client and the scheduler of a cluster know each other by TLS."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import attrs

from tallystick.errors import EngineError

if TYPE_CHECKING:
    from distributed.security import Security


@attrs.frozen
class Certificates:
    """The files in PEM that a client shows to a scheduler, and knows it by.

    Attributes:
        authority: the certificate that those of the scheduler and of the workers are signed by.
        certificate: of this client, signed by the same.
        key: of that certificate, without a passphrase: Dask has no way to be told one.
    """

    authority: Path = attrs.field(converter=Path)
    certificate: Path = attrs.field(converter=Path)
    key: Path = attrs.field(converter=Path)

    def check(self) -> None:
        """Look at the files before anybody is spoken to.

        Raises:
            EngineError: one cannot be read, or they do not belong together.
        """
        for path in (self.authority, self.certificate, self.key):
            _readable(path)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            context.load_verify_locations(self.authority)
        except ssl.SSLError as error:
            raise EngineError(
                f"{self.authority}: found no certificate, expected that of the cluster's authority "
                "in PEM"
            ) from error
        try:
            # without an answer here OpenSSL would ask on the terminal
            context.load_cert_chain(self.certificate, self.key, password=self._refuse)
        except ssl.SSLError as error:
            raise EngineError(
                f"{self.certificate}: the certificate cannot be used with the key {self.key} "
                f"({error.reason or 'no PEM'}): give the two that were made together, in PEM"
            ) from error

    def _refuse(self) -> NoReturn:
        raise EngineError(
            f"{self.key}: found a key with a passphrase, expected one without: Dask cannot be told "
            "a passphrase, so keep the key in a file that only its user can read"
        )


def is_encrypted(address: str) -> bool:
    """Return whether the address of a scheduler is one of TLS."""
    return address.startswith("tls://")


def client_security(address: str, certificates: Certificates | None) -> Security:
    """Return Dask's settings of TLS.

    Args:
        address: of the scheduler.
        certificates: by default those of the configuration of Dask, if it has some.

    Raises:
        EngineError: there are no certificates, they cannot be used, or the address has no TLS.
    """
    from distributed.security import Security  # heavy, and an extra

    if certificates is None:
        configured = Security()  # type: ignore[no-untyped-call]  # as released
        settings = configured.get_tls_config_for_role("client")  # type: ignore[no-untyped-call]  # as released
        if is_encrypted(address) and not (settings["ca_file"] and settings["cert"]):
            raise EngineError(
                f"{address}: found no certificates, expected --cluster-ca, --cluster-cert and "
                "--cluster-key, or those of the configuration of Dask"
            )
        return configured
    if not is_encrypted(address):
        raise EngineError(
            f"{address}: found certificates for an address without TLS, expected tls://host:port"
        )
    certificates.check()
    return Security(  # type: ignore[no-untyped-call]  # as released
        require_encryption=True,
        tls_ca_file=str(certificates.authority),
        tls_client_cert=str(certificates.certificate),
        tls_client_key=str(certificates.key),
    )


def _readable(path: Path) -> None:
    # would be waited for without an end, and is read more than once
    if path.is_fifo():
        raise EngineError(f"{path}: found a pipe, expected certificates and their key as files")
    try:
        with path.open("rb"):
            return
    except OSError as error:
        raise EngineError(
            f"{path}: the file cannot be read ({error.strerror}): give certificates and their key "
            "as files"
        ) from error
