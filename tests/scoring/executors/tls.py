"""Certificates as the page about clusters makes them."""

import re
import subprocess
from pathlib import Path

from needs import tool

from tallystick.scoring.executors.certificates import Certificates

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "cluster.md"
ROLES = ("scheduler", "worker", "client")
_BLOCK = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks() -> list[str]:
    """The commands of the page: certificates, scheduler, worker, client."""
    found = _BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(found) == 4
    return found


def make_certificates(folder: Path) -> Path:
    """A folder with an authority, and what it signed for a scheduler, the workers and a client."""
    tool("openssl")
    folder.mkdir(parents=True)
    command = ["bash", "-e", "-c", blocks()[0]]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder


def of_client(folder: Path, **others: Path) -> Certificates:
    """The client's own of a folder, with some files from elsewhere."""
    files = {
        "authority": folder / "ca.pem",
        "certificate": folder / "client.pem",
        "key": folder / "client.key",
    }
    return Certificates(**files | others)


def tls_of(folder: Path) -> dict[str, str]:
    """Dask's settings of TLS for every role."""
    found = {"tls_ca_file": str(folder / "ca.pem")}
    for role in ROLES:
        found[f"tls_{role}_cert"] = str(folder / f"{role}.pem")
        found[f"tls_{role}_key"] = str(folder / f"{role}.key")
    return found
