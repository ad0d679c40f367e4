"""``tallystick serve`` listens, says where, and ends when it is asked to."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cli.command import COMMAND, run
from service.live import OWN, Live

EVERYWHERE = "0.0.0.0"  # noqa: S104  # what the command warns of
_START_S = 600
"""A machine that is loaded takes any time; a service that never starts is found by this."""


@contextmanager
def served(*arguments: str, **environment: str) -> Iterator[tuple[Live, dict[str, Any], Any]]:
    """A service in a process of its own: where it is, what it said, and the process."""
    process = subprocess.Popen(
        [*COMMAND, "serve", *arguments, "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    try:
        assert process.stdout is not None
        text = ""
        for line in process.stdout:
            text += line
            if line == "}\n":
                break
        assert text, process.communicate()
        said = json.loads(text)
        yield Live(said["address"]), said, process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_a_state_until_a_signal(state: Path, number: signal.Signals) -> None:
    with served("--state", str(state), "--operator") as (service, said, process):
        assert said["shows"] == "public"
        assert service.place[0] == "127.0.0.1"
        assert service.ask("/healthz").json()["status"] == "ok"
        secret = {"authorization": f"Bearer {said['operator']}"}
        assert service.ask("/api/v1/miners", secret).status == 200
        assert service.ask("/api/v1/miners").status == 403
        # an open connection does not hold it up
        with socket.create_connection(service.place):
            process.send_signal(number)
            out, err = process.communicate(timeout=_START_S)
    assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.parametrize(
    "origin",
    ["board.example", "https://board.example/", "https://board.example:443", "ftp://a", "http://["],
)
def test_an_origin_that_is_none_is_refused(state: Path, origin: str) -> None:
    arguments = ("serve", "--state", str(state), "--origin", origin)
    done = run(*arguments)
    assert done.status == 2
    assert f"found the --origin {origin}, expected one such as" in " ".join(done.err.split())


def test_a_proof_for_the_origin_of_the_option_holds(state: Path) -> None:
    more = ("--origin", "https://board.example", "--proxy", "127.0.0.1")
    with served("--state", str(state), *more) as (service, _said, _process):
        proof = service.proof(origin="https://board.example")
        address = f"/api/v1/miners/{OWN}/epochs"
        assert service.ask(address, {**proof, "host": "board.example"}).status == 200


def test_each_start_has_another_secret(state: Path) -> None:
    secrets = set()
    for _ in range(2):
        with served("--state", str(state), "--operator") as (_service, said, _process):
            secrets.add(said["operator"])
    assert len(secrets) == 2


def test_a_host_that_others_reach_is_warned_of(state: Path) -> None:
    arguments = ("--state", str(state), "--host", EVERYWHERE, "--allow-host", "board.example")
    with served(*arguments) as (service, _said, process):
        port = service.place[1]
        here = Live(f"http://127.0.0.1:{port}")
        assert here.ask("/healthz", {"host": "board.example"}).status == 200
        assert here.ask("/healthz", {"host": "other.example"}).status == 421
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=_START_S)
    assert "expected a proxy with TLS" in err
    assert process.returncode == 0


def test_a_checkpoint_is_signed_by_a_key(state: Path, tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    assert run("keys", "new", str(key), "--no-password").status == 0
    with served("--state", str(state), "--key", str(key)) as (service, _said, _process):
        answer = service.ask("/api/v1/checkpoint").json()
    assert answer["signed_by"].startswith("ed25519:")
    assert "\n\n— " in answer["checkpoint"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "found no state, expected --state STATE, or --demo"),
        (("--demo", "--state", "x.db"), "--demo makes its own state"),
        (("--state", "x.db", "--operator", "--host", EVERYWHERE), "for this machine alone"),
        (("--state", "none.db", "--port", "0"), "none.db"),
        (("--state", "x.db", "--host", "256.1.1.1", "--port", "0"), "cannot be listened on"),
        (("--state", "x.db", "--port", "70000"), "70000"),
        (("--state", "x.db", "--proofs", "none"), "found no folder none"),
    ],
)
def test_a_mistake_is_told(arguments: tuple[str, ...], message: str) -> None:
    done = run("serve", *arguments)
    assert done.status == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_port_that_is_taken_is_told(state: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve", "--state", str(state), "--port", str(port))
    assert done.status == 2
    assert "cannot be listened on" in done.err


def test_without_the_extra_it_says_what_to_install(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "starlette", None)
    done = run("serve", "--state", str(state), "--port", "0")
    assert done.status == 2
    assert "pip install 'tallystick[serve]'" in done.err


@pytest.mark.slow
def test_a_made_up_network_is_served_and_removed(tmp_path: Path) -> None:
    begin = time.monotonic()
    with served("--demo", TMPDIR=str(tmp_path)) as (service, said, process):
        assert service.ask("/healthz").status == 200
        started = time.monotonic() - begin
        assert said["shows"] == "all"
        assert len(service.ask("/api/v1/miners").json()["miners"]) >= 64
        assert service.ask("/api/v1/state").json()["epoch"] >= 12
        spans = service.ask("/api/v1/rules").json()["lines"][0]["rules"]
        assert len(spans) == 2
        boards = [span["reference"] for span in spans]
        assert boards == ["skills@1.1.0", "skills@1.2.0"]
        assert len([*tmp_path.iterdir()]) == 1
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=_START_S)
    assert [*tmp_path.iterdir()] == []
    # half a minute on a machine that does nothing else; here others run beside
    assert started < 300
