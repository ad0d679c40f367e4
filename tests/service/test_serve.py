"""``tallystick serve`` listens, says where, and ends when it is asked to."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.command import COMMAND, run
from service.command import Output, until_asked
from service.live import OWN, InThread, Live

from tallystick_service import scoring
from tallystick_service.demo import MINER

EVERYWHERE = "0.0.0.0"  # noqa: S104  # what the command warns of


Ask = Callable[[Live, dict[str, Any]], None]
Serve = Callable[..., str]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Serve:
    """The command in this process, which scores nothing; gives what it wrote to standard error."""
    monkeypatch.setattr(scoring, "ScoringProcesses", lambda *_: InThread(None))

    def served(ask: Ask, *arguments: str, end: signal.Signals = signal.SIGTERM) -> str:
        def asking(out: Output, _: Output) -> None:
            said = json.loads(out.value())
            ask(Live(said["address"]), said)

        done = until_asked(asking, "serve", *arguments, "--port", "0", "--json", end=end)
        assert done.status == 0
        return done.err

    return served


def test_it_serves_a_state_until_a_signal(state: Path, serve: Serve) -> None:
    secrets = set[str]()

    def ask(service: Live, said: dict[str, Any]) -> None:
        assert service.place[0] == "127.0.0.1"
        assert service.ask("/healthz").json()["status"] == "ok"
        secret = {"authorization": f"Bearer {said['operator']}"}
        assert service.ask("/api/v1/miners", secret).status == 200
        assert service.ask("/api/v1/miners").status == 403
        secrets.add(said["operator"])
        # an open connection does not hold it up
        open_ones.append(socket.create_connection(service.place))

    open_ones = list[socket.socket]()
    for number in (signal.SIGTERM, signal.SIGINT):
        assert serve(ask, "--state", str(state), "--operator", end=number) == ""
    for connection in open_ones:
        connection.close()
    # each start has another one
    assert len(secrets) == 2


def test_a_proof_for_the_origin_of_the_option_holds(state: Path, serve: Serve) -> None:
    def ask(service: Live, _: dict[str, Any]) -> None:
        proof = service.proof(origin="https://board.example")
        address = f"/api/v1/miners/{OWN}/epochs"
        assert service.ask(address, {**proof, "host": "board.example"}).status == 200

    serve(ask, "--state", str(state), "--origin", "https://board.example", "--proxy", "127.0.0.1")


def test_a_host_that_others_reach_is_warned_of(state: Path, serve: Serve) -> None:
    def ask(service: Live, _: dict[str, Any]) -> None:
        here = Live(f"http://127.0.0.1:{service.place[1]}")
        assert here.ask("/healthz", {"host": "board.example"}).status == 200
        assert here.ask("/healthz", {"host": "other.example"}).status == 421

    arguments = ("--state", str(state), "--host", EVERYWHERE, "--allow-host", "board.example")
    assert "expected a proxy with TLS" in serve(ask, *arguments)


def test_a_checkpoint_is_signed_by_a_key(state: Path, tmp_path: Path, serve: Serve) -> None:
    def ask(service: Live, _: dict[str, Any]) -> None:
        answer = service.ask("/api/v1/checkpoint").json()
        assert answer["signed_by"].startswith("ed25519:")
        assert "\n\n— " in answer["checkpoint"]

    key = tmp_path / "key.pem"
    assert run("keys", "new", str(key), "--no-password").status == 0
    serve(ask, "--state", str(state), "--key", str(key))


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
        *(
            (("--state", "x.db", "--origin", origin), f"found the --origin {origin}, expected one")
            for origin in (
                *("board.example", "https://board.example/", "https://board.example:443"),
                *("ftp://a", "http://["),
            )
        ),
    ],
)
def test_a_mistake_is_told(arguments: tuple[str, ...], message: str) -> None:
    done = run("serve", *arguments)
    assert done.status == 2
    assert message in " ".join(done.err.split())
    assert "Traceback" not in done.err


def test_without_the_extra_it_says_what_to_install(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "starlette", None)
    done = run("serve", "--state", str(state), "--port", "0")
    assert done.status == 2
    assert "pip install 'tallystick[serve]'" in done.err


@pytest.mark.nightly
def test_a_made_up_network_is_served_and_removed(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "serve", "--demo", "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    try:
        assert process.stdout is not None
        text = ""
        while not text.endswith("}\n"):
            line = process.stdout.readline()
            assert line, process.communicate()
            text += line
        said = json.loads(text)
        service = Live(said["address"])
        assert service.ask("/healthz").status == 200
        assert service.ask("/api/v1/miners").code == "not-shown"
        as_operator = {"authorization": f"Bearer {said['operator']}"}
        assert len(service.ask("/api/v1/miners", as_operator).json()["miners"]) >= 64
        assert service.ask(f"/miners/{MINER}/own").status == 200
        assert service.ask("/api/v1/state").json()["epoch"] >= 12
        spans = service.ask("/api/v1/rules").json()["lines"][0]["rules"]
        assert [span["reference"] for span in spans] == ["skills@1.1.0", "skills@1.2.0"]
        assert len([*tmp_path.iterdir()]) == 1
        process.send_signal(signal.SIGTERM)
        assert process.communicate() == ("", "")
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()
    assert [*tmp_path.iterdir()] == []
