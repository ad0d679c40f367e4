"""The cluster of the page, by its commands: real processes that know each other by certificates."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest
from cli.command import SKILLS
from manual.page import Page
from needs import tool
from scoring.executors.tls import blocks, make_certificates

_PAGE = Page.of("docs/cluster.md")


def _here(text: str, port: int) -> str:
    """A block of the page with all machines being this one."""
    assert "10.0.0.5" in text
    return text.replace("10.0.0.5", "127.0.0.1").replace("8786", str(port))


def _environment() -> dict[str, str]:
    """As a reader's, whose environment is active."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    kept = {key: value for key, value in os.environ.items() if not key.startswith("DASK_")}
    return kept | {"PATH": path}


@contextmanager
def _started(command: str, folder: Path) -> Iterator[IO[str]]:
    """A process of the page, and what it writes."""
    process = subprocess.Popen(
        [tool("bash"), "-c", f"exec {command}"],
        cwd=folder,
        env=_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        assert process.stdout is not None
        try:
            yield process.stdout
        finally:
            process.terminate()


def _until(output: IO[str], pattern: str) -> str:
    """Wait for a line that a process writes, and return the part of it that a pattern has."""
    for line in output:
        if matched := re.search(pattern, line):
            return matched[matched.lastindex or 0]
    raise AssertionError(f"the process ended without {pattern}")


def _run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [tool("bash"), "-c", command],
        cwd=folder,
        env=_environment(),
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.mark.nightly
def test_the_cluster_of_the_page_works_for_who_has_its_certificates(tmp_path: Path) -> None:
    folder, foreign = (make_certificates(tmp_path / name) for name in ("ours", "foreign"))
    (folder / "records.jsonl").write_bytes(SKILLS.read_bytes())
    (settings,) = [b.text for b in _PAGE.blocks() if b.title == "cluster.env"]
    # the system gives the scheduler a port, which the others are told
    with _started(_here(blocks()[1], 0), folder) as one:
        port = int(_until(one, r"tls://127\.0\.0\.1:(\d+)"))
        worker, client = (_here(text, port) for text in blocks()[2:])
        with _started(worker, folder):
            _until(one, "Register worker")

            done = _run(client, folder)
            assert done.returncode == 0, done.stderr
            alone = "tallystick score records.jsonl --rules skills@1.1.0 -o alone.jsonl"
            assert _run(alone, folder).returncode == 0
            results = (folder / "results.jsonl").read_bytes()
            assert results == (folder / "alone.jsonl").read_bytes()

            (folder / "results.jsonl").unlink()
            (program,) = [b.text for b in _PAGE.blocks() if b.text.startswith("import tallystick")]
            (folder / "program.py").write_text(_here(program, port), encoding="utf-8")
            assert _run("python program.py", folder).returncode == 0
            assert results == (folder / "results.jsonl").read_bytes()

            (folder / "cluster.env").write_text(_here(settings, port), encoding="utf-8")
            again = f"set -a; . ./cluster.env; {alone.replace('alone.jsonl', 'again.jsonl')}"
            assert _run(again, folder).returncode == 0
            assert results == (folder / "again.jsonl").read_bytes()

            (foreign / "records.jsonl").write_bytes(SKILLS.read_bytes())
            theirs = client.replace("--cluster-ca ca.pem", f"--cluster-ca {folder / 'ca.pem'}")
            for refused in (theirs, client, client.partition("\\")[0]):
                done = _run(refused, foreign)
                assert done.returncode == 2, done.stderr
                assert done.stderr.startswith(f"error: tls://127.0.0.1:{port}: ")
                assert done.stderr.count("\n") == 1, done.stderr
                assert not (foreign / "results.jsonl").exists()
        _until(one, "TLS handshake failed")
