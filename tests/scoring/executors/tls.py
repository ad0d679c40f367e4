"""Certificates as the page about clusters makes them."""

import re
import subprocess
from pathlib import Path

from needs import tool

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "cluster.md"
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
