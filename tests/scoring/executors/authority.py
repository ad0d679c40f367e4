"""Certificates of a cluster: an authority, and what it signed for each role."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tallystick.scoring.executors.certificates import Certificates

ROLES = ("scheduler", "worker", "client")


def make_certificates(folder: Path) -> Path:
    """Make a folder with ``ca.pem``, and a certificate and a key of each role."""
    folder.mkdir(parents=True)
    authority = ec.generate_private_key(ec.SECP256R1())
    _write(folder, "ca", authority, authority)
    for role in ROLES:
        _write(folder, role, ec.generate_private_key(ec.SECP256R1()), authority)
    return folder


def _write(
    folder: Path, name: str, key: ec.EllipticCurvePrivateKey, authority: ec.EllipticCurvePrivateKey
) -> None:
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(_named(name))
        .issuer_name(_named("ca"))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=name == "ca", path_length=None), critical=True)
        .sign(authority, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / f"{name}.pem").write_bytes(certificate.public_bytes(pem))
    (folder / f"{name}.key").write_bytes(pem_of(key))


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def pem_of(key: ec.EllipticCurvePrivateKey, passphrase: bytes | None = None) -> bytes:
    """Return a private key in PEM, encrypted if there is a passphrase."""
    encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if passphrase is not None:
        encryption = serialization.BestAvailableEncryption(passphrase)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
    )


def of_client(folder: Path, **others: Path) -> Certificates:
    """The client's own of a folder, with some files from elsewhere."""
    files = {
        "authority": folder / "ca.pem",
        "certificate": folder / "client.pem",
        "key": folder / "client.key",
    }
    return Certificates(**files | others)


def tls_of(folder: Path) -> dict[str, dict[str, str]]:
    """Dask's settings of TLS for each role."""
    authority = {"tls_ca_file": str(folder / "ca.pem")}
    return {
        role: {
            **authority,
            f"tls_{role}_cert": str(folder / f"{role}.pem"),
            f"tls_{role}_key": str(folder / f"{role}.key"),
        }
        for role in ROLES
    }
