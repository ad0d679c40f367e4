"""A simulated chain as a process: its clients, its faults, and who does not behave."""

import json
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from chain.simulated_subnet import (
    FIRST,
    NETUID,
    OTHER,
    ROW,
    VALIDATOR,
    everything,
    subnet,
)
from cli.command import run
from service.command import Output, until_asked
from service.ports import unanswered

from tallystick_chain.chain import Chain, ChainError, Refusal
from tallystick_chain.connect import connect
from tallystick_chain.simulated.calls import Fault
from tallystick_chain.simulated.client import Control, RemoteChain
from tallystick_chain.simulated.hotkeys import address_of, hotkey_of, signer_of
from tallystick_chain.simulated.server import MAX_CONNECTIONS, SimulationServer, serving
from tallystick_chain.simulated.simulation import SimulatedChain
from tallystick_chain.simulated.wire import MAX_REQUEST_BYTES, PROTOCOL
from tallystick_state.trust.keys import PublicKey

LONG = 60.0
"""Seconds of a deadline that no test waits for."""
NO_ANSWER = 1.0
"""Seconds of a deadline that passes, as no answer comes; to send takes far less."""
HANGS = [False, pytest.param(True, marks=pytest.mark.nightly)]
"""Connections that a fault closes, and those that it leaves open until the deadline."""


@pytest.fixture
def chain() -> SimulatedChain:
    return subnet()


@pytest.fixture
def url(chain: SimulatedChain) -> Iterator[str]:
    with serving(chain) as served:
        yield served


@pytest.fixture
def view(url: str) -> Iterator[RemoteChain]:
    remote = RemoteChain(url, VALIDATOR, read_deadline_s=LONG)
    yield remote
    remote.close()


def raw(url: str) -> socket.socket:
    host, _, port = url.removeprefix("simulate://").rpartition(":")
    connection = socket.create_connection((host, int(port)), LONG)
    connection.settimeout(LONG)
    return connection


def until_closed(connection: socket.socket) -> bytes:
    """Return the bytes that come until the other side closes."""
    data = b""
    while chunk := connection.recv(1 << 16):
        data += chunk
    connection.close()
    return data


def request(call: str, number: int = 1, **arguments: object) -> bytes:
    return json.dumps({"id": number, "call": call, "arguments": arguments}).encode() + b"\n"


HELLO = request("hello", protocol=PROTOCOL, hotkey=VALIDATOR)


# a validator


def test_it_is_a_chain_and_reads_as_one_in_memory_does(
    chain: SimulatedChain, view: RemoteChain
) -> None:
    as_protocol: Chain = view
    chain.set_hyperparameters(NETUID, commit_reveal=True)
    assert as_protocol.submit_row(NETUID, 0, ROW, 3, LONG).kind == "committed"
    assert as_protocol.commit(NETUID, bytes(range(128)), LONG).kind == "included"
    chain.advance(4)
    here = chain.as_hotkey(VALIDATOR)
    assert view.head() == here.head()
    assert view.hotkey() == VALIDATOR
    for block in (chain.best - 4, chain.best):
        assert everything(view, NETUID, block) == everything(here, NETUID, block)
    assert [entry.version_key for entry in chain.log] == [3, 0]


@pytest.mark.parametrize(
    ("query", "arguments"),
    [
        ("subnet", (0, 0, FIRST)),
        ("subnet", (8, 0, FIRST + 1)),
        ("neurons", (NETUID, 10**6)),
        ("row", (NETUID, 1, 0, FIRST + 1)),
        ("last_update", (NETUID, 0, 99, FIRST + 1)),
        ("block_hash", (-1,)),
    ],
)
def test_a_refused_read_is_the_same_error(
    chain: SimulatedChain, view: RemoteChain, query: str, arguments: tuple[int, ...]
) -> None:
    errors = []
    for each in (view, chain.as_hotkey(VALIDATOR)):
        with pytest.raises(ChainError) as caught:
            getattr(each, query)(*arguments)
        errors.append((str(caught.value), caught.value.code))
    assert errors[0] == errors[1]


def test_a_refused_row_is_the_same_receipt(chain: SimulatedChain, view: RemoteChain) -> None:
    for pairs, key in (((99, 1),), 0), (ROW, -1), (((3, 65536),), 0):
        here = chain.as_hotkey(VALIDATOR).submit_row(NETUID, 0, pairs, key, LONG)
        assert view.submit_row(NETUID, 0, pairs, key, LONG) == here
        assert here.kind == "refused"
    assert chain.log == ()


def test_several_validators_share_one_chain(chain: SimulatedChain, url: str) -> None:
    chain.set_permit(NETUID, 1, permit=True)
    views = [RemoteChain(url, hotkey) for hotkey in (VALIDATOR, OTHER)]
    control = Control(url)
    for number, each in enumerate(views):
        each.submit_row(NETUID, 0, ((3, 65535), (4, number + 1)), 0, LONG)
    block = control.advance()
    for number, each in enumerate(reversed(views)):
        assert each.row(NETUID, 0, 1 - number, block) == ((3, 65535), (4, 2 - number))
    assert control.log() == chain.log
    assert {entry.hotkey for entry in control.log()} == {VALIDATOR, OTHER}
    for each in (*views, control):
        each.close()


# keys


def test_what_a_key_signs_is_seen_to_be_its_own(chain: SimulatedChain) -> None:
    signer = signer_of("validator")
    chain.register(NETUID, address_of(signer), permit=True)
    chain.advance(10)
    with serving(chain, is_signed=True) as url:
        view = connect(url, signer)
        assert view.submit_row(NETUID, 0, ROW, 0, LONG).kind == "included"
        assert view.commit(NETUID, b"x", LONG).kind == "included"
        assert view.hotkey() == address_of(signer)
        assert len(view.sign(b"statement")) == 64
    assert [(entry.hotkey, entry.is_signed) for entry in chain.log] == [
        (view.hotkey(), True),
        (view.hotkey(), True),
    ]


class Impostor:
    """A signer that has the public key of one and the secret key of another."""

    public: PublicKey = signer_of("validator").public

    def sign(self, message: bytes) -> bytes:
        return signer_of("impostor").sign(message)


def test_nobody_calls_in_the_name_of_another(chain: SimulatedChain) -> None:
    hotkey = address_of(signer_of("validator"))
    chain.register(NETUID, hotkey, permit=True)
    chain.advance(10)
    with serving(chain, is_signed=True) as url:
        for key in (hotkey, Impostor()):
            receipt = connect(url, key).submit_row(NETUID, 0, ROW, 0, LONG)
            assert (receipt.kind, receipt.code) == ("refused", Refusal.OTHER)
            assert receipt.chain_error.startswith("BadProof")
    with serving(chain) as url:
        assert connect(url, Impostor()).commit(NETUID, b"", LONG).kind == "refused"
        assert connect(url, hotkey).commit(NETUID, b"", LONG).kind == "included"
    assert [entry.is_signed for entry in chain.log] == [False]


def test_a_signature_is_good_for_one_request_of_one_connection(chain: SimulatedChain) -> None:
    """The line that another connection sent is sent again, to the byte."""
    signer = signer_of("validator")
    chain.register(NETUID, address_of(signer), permit=True)
    chain.advance(10)
    with serving(chain, is_signed=True) as url, socket.create_server(("127.0.0.1", 0)) as tap:
        sent = list[bytes]()

        def relay() -> None:
            client, _ = tap.accept()
            with client, raw(url) as server, client.makefile("rb") as lines:
                answers = server.makefile("rb")
                for line in lines:
                    sent.append(line)
                    server.sendall(line)
                    client.sendall(answers.readline())

        thread = threading.Thread(target=relay)
        thread.start()
        view = RemoteChain(f"simulate://127.0.0.1:{tap.getsockname()[1]}", signer)
        assert view.commit(NETUID, b"once", LONG).kind == "included"
        view.close()
        thread.join()
        with raw(url) as connection:
            connection.sendall(b"".join(sent))
            connection.shutdown(socket.SHUT_WR)
            answers = until_closed(connection).splitlines()
    assert json.loads(answers[1])["value"]["chain_error"].startswith("BadProof")
    assert len(chain.log) == 1


def test_a_hotkey_without_its_key_signs_nothing(view: RemoteChain) -> None:
    with pytest.raises(ChainError) as caught:
        view.sign(b"x")
    assert caught.value.code is Refusal.NOT_MODELLED


# answers that do not come


def met(chain: SimulatedChain, name: str) -> threading.Event:
    """An event that is set once a call of a method has met a fault."""
    method, event = getattr(chain, name), threading.Event()

    def watched(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401  # of the method
        result = method(*arguments, **named)
        if (result[1] if isinstance(result, tuple) else result) is not None:
            event.set()
        return result

    setattr(chain, name, watched)
    return event


@pytest.mark.parametrize(("outcome", "landed"), [("lost", False), ("landed", True)])
@pytest.mark.parametrize("hangs", HANGS)
def test_a_row_without_an_answer_is_unknown_and_is_never_sent_again(
    chain: SimulatedChain,
    view: RemoteChain,
    outcome: Literal["lost", "landed"],
    landed: bool,
    hangs: bool,
) -> None:
    view.head()  # connects
    has_met = met(chain, "call")
    chain.inject(Fault(outcome, hangs=hangs))
    receipt = view.submit_row(NETUID, 0, ROW, 0, NO_ANSWER if hangs else LONG)
    # the server may have yet to read the call
    has_met.wait()
    assert (receipt.kind, receipt.code) == ("unknown", None)
    assert receipt.chain_error.endswith("timed out" if hangs else "the connection was closed")
    block = chain.advance()
    assert view.row(NETUID, 0, 0, block) == (ROW if landed else ())
    assert len(chain.log) == landed


def test_a_wrong_fork_answers_and_a_late_row_lands(
    chain: SimulatedChain, url: str, view: RemoteChain
) -> None:
    control = Control(url)
    control.inject(Fault("wrong-fork"))
    control.inject(Fault("late", blocks=2, hangs=False))
    assert view.submit_row(NETUID, 0, ROW, 0, LONG).kind == "included"
    assert view.submit_row(NETUID, 0, ROW, 0, LONG).kind == "unknown"
    assert control.log() == ()
    assert view.row(NETUID, 0, 0, control.advance(3)) == ROW
    assert len(chain.log) == 1


@pytest.mark.parametrize("hangs", HANGS)
def test_a_read_without_an_answer_is_unreachable_and_the_next_one_connects(
    chain: SimulatedChain, url: str, hangs: bool
) -> None:
    view = RemoteChain(url, VALIDATOR, read_deadline_s=NO_ANSWER if hangs else LONG)
    has_met = met(chain, "read_fault")
    chain.inject(Fault("lost", kind="read", hangs=hangs))
    with pytest.raises(ChainError) as caught:
        view.head()
    assert caught.value.code is Refusal.UNREACHABLE
    has_met.wait()
    assert view.head().best == chain.best
    view.close()


def test_what_was_not_sent_is_refused_and_not_unknown() -> None:
    with unanswered() as nobody:
        view = connect(f"simulate://{nobody}", VALIDATOR)
        receipt = view.submit_row(NETUID, 0, ROW, 0, LONG)
        assert (receipt.kind, receipt.code) == ("refused", Refusal.UNREACHABLE)
        with pytest.raises(ChainError) as caught:
            view.head()
    assert caught.value.code is Refusal.UNREACHABLE


@pytest.mark.parametrize(
    "answer",
    [
        b"garbage\n",
        b'{"id": 99, "value": 1}\n',
        b'{"id": 1, "value": "text"}\n',
        b'{"id": 1',
        b"",
        b"[" * 100_000 + b"\n",
    ],
)
def test_a_server_that_answers_nonsense_is_no_chain(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def respond() -> None:
            connection, _ = server.accept()
            with connection, connection.makefile("rb") as lines:
                lines.readline()
                connection.sendall(answer)

        thread = threading.Thread(target=respond)
        thread.start()
        view = connect(f"simulate://127.0.0.1:{server.getsockname()[1]}", VALIDATOR)
        with pytest.raises(ChainError) as caught:
            view.head()
        thread.join()
    assert caught.value.code is Refusal.UNREACHABLE


# clients that do not behave


GARBAGE = (
    b"\n",
    b"\xff\xfe\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"{}\n",
    b"null\n",
    b"[" * 50_000 + b"\n",
    b'{"id": 1, "call": "head"}\n',
    b'{"id": true, "call": "hello"}\n',
    request("hello", protocol=99),
    request("hello", protocol=PROTOCOL, hotkey=5),
    request("hello", protocol=PROTOCOL, more=1),
    HELLO + b"garbage\n",
    HELLO + request("subnet", 2, netuid=NETUID),
    HELLO + request("subnet", 2, netuid="7", mechanism=0, block=FIRST),
    HELLO + request("subnet", 2, netuid=NETUID, mechanism=0, block=FIRST, more=1),
    HELLO + request("__init__", 2),
    HELLO + request("_seal", 2),
    HELLO + request("submit_row", 2, netuid=NETUID, mechanism=0, pairs=[[1]], version_key=0),
    HELLO + request("commit", 2, netuid=NETUID, data="not base64!"),
    HELLO + request("set_hyperparameters", 2, netuid=NETUID, changes=[1]),
    HELLO + request("inject", 2, fault={"outcome": "never"}),
)


@pytest.mark.parametrize("data", GARBAGE)
def test_garbage_is_answered_with_the_reason_and_ends_its_connection(
    chain: SimulatedChain, url: str, view: RemoteChain, data: bytes
) -> None:
    before = chain.best, chain.log
    connection = raw(url)
    connection.sendall(data)
    answer = json.loads(until_closed(connection).splitlines()[-1])
    assert answer["error"]["code"] == "bad-request"
    assert answer["error"]["message"].startswith("found ")
    assert (view.head().best, chain.log) == before


def test_a_request_that_is_too_long_is_refused_before_its_end(url: str, view: RemoteChain) -> None:
    connection = raw(url)
    connection.sendall(b'{"id": 1, "call": "' + b"x" * (MAX_REQUEST_BYTES + 100))
    answer = json.loads(until_closed(connection))
    assert f"more than {MAX_REQUEST_BYTES} bytes" in answer["error"]["message"]
    assert view.head()


def test_half_a_line_holds_up_nobody(url: str, view: RemoteChain) -> None:
    connections = [raw(url) for _ in range(20)]
    for number, connection in enumerate(connections):
        connection.sendall(HELLO[: 1 + number])
        assert view.head()
    for connection in connections:
        connection.close()
    assert view.head()


def test_half_a_row_is_no_row(chain: SimulatedChain, url: str, view: RemoteChain) -> None:
    call = request("submit_row", 2, netuid=NETUID, mechanism=0, pairs=ROW, version_key=0)
    connection = raw(url)
    connection.sendall(HELLO + call[:-1])
    connection.shutdown(socket.SHUT_WR)
    assert len(until_closed(connection).splitlines()) == 1
    assert view.row(NETUID, 0, 0, chain.advance()) == chain.log == ()


def test_who_closes_its_side_still_gets_its_answers(url: str) -> None:
    connection = raw(url)
    connection.sendall(HELLO + request("head", 2))
    connection.shutdown(socket.SHUT_WR)
    hello, head = map(json.loads, until_closed(connection).splitlines())
    assert (hello["id"], head["id"]) == (1, 2)
    assert head["value"]["endpoint"] == "simulated"


def test_who_does_not_read_stops_only_itself(chain: SimulatedChain, url: str) -> None:
    """Its answers fill what the system buffers, and then the server waits for it alone."""
    connection = raw(url)
    connection.setblocking(False)
    question = request("neurons", 2, netuid=NETUID, block=chain.best)
    connection.send(HELLO)
    view = RemoteChain(url, VALIDATOR)
    full = 0
    while full < 2:
        try:
            connection.send(question * 100)
            full = 0
        except BlockingIOError:
            # full again after an answer to another: the server reads no more of it
            full += 1
        assert view.head().best == chain.best
    connection.close()
    assert view.head().best == chain.best
    view.close()


def test_one_connection_too_many_is_closed_and_those_before_go_on(url: str) -> None:
    connections = []
    for _ in range(MAX_CONNECTIONS):
        connection = raw(url)
        connection.sendall(HELLO)
        assert connection.recv(1 << 10).endswith(b"\n")
        connections.append(connection)
    assert until_closed(raw(url)) == b""
    connections[0].sendall(request("head", 2))
    assert b'"best"' in connections[0].recv(1 << 10)
    for connection in connections:
        connection.close()


def test_a_call_needs_a_hotkey(url: str) -> None:
    control = Control(url)
    with pytest.raises(ChainError) as caught:
        control.do("commit", netuid=NETUID, data=b"")
    assert caught.value.code is Refusal.NOT_REGISTERED
    control.close()


def test_who_steers_does_all_that_the_holder_of_a_chain_can(
    chain: SimulatedChain, url: str
) -> None:
    control = Control(url)
    control.do("create_subnet", netuid=9, mechanisms=2, hyperparameters={"tempo": 5})
    assert control.do("register", netuid=9, hotkey=VALIDATOR) == 0
    assert control.do("register", netuid=9, hotkey=OTHER, uid=0, stake_rao=3, permit=True) == 0
    control.do("set_stake", netuid=9, uid=0, stake_rao=4)
    control.do("set_permit", netuid=9, uid=0, permit=False)
    control.do("set_hyperparameters", netuid=9, changes={"tempo": 6, "commit_reveal": False})
    control.do("request_epoch", netuid=9, block=chain.building + 1)
    control.do("set_runtime", spec_version=500, beacon=False)
    assert control.advance(2) == chain.best
    subnets = chain.block(chain.best).state.subnets
    assert (subnets[9].hyperparameters.tempo, subnets[9].epoch) == (6, 1)
    assert [(n.hotkey, n.stake_rao, n.permit) for n in subnets[9].neurons] == [(OTHER, 4, False)]
    assert control.head().spec_version == 500
    control.do("trim", netuid=9, uids=[0])
    control.do("set_finality", runs=False)
    finalized = control.head().finalized
    control.advance(5)
    assert control.head().finalized == finalized
    control.do("fork", depth=7)
    assert control.head().best == finalized
    with pytest.raises(ChainError, match="no hyperparameter 'burn'"):
        control.do("set_hyperparameters", netuid=NETUID, changes={"burn": 1})
    control.close()


def test_a_long_log_comes_in_parts(chain: SimulatedChain, url: str) -> None:
    chain.set_hyperparameters(NETUID, commitment_space=10**6)
    for number in range(250):
        chain.as_hotkey(VALIDATOR).commit(NETUID, bytes([number]), LONG)
    control = Control(url)
    assert control.log() == chain.log
    chain.fork(0)
    assert (control.log(), control.log(retracted=True)) == ((), chain.retracted)
    control.close()


def test_an_address_that_others_reach_is_refused(chain: SimulatedChain) -> None:
    import asyncio

    server = SimulationServer(chain)
    for host in ("0.0.0.0", "192.0.2.1", "::"):  # noqa: S104
        with pytest.raises(ValueError, match="expected a loopback address"):
            asyncio.run(server.serve(host, 0, ready=print, stop=asyncio.Event()))


@pytest.mark.parametrize(
    "url",
    [
        "",
        "finney",
        "ws://127.0.0.1:9944",
        "simulate://",
        "simulate://127.0.0.1",
        "simulate://127.0.0.1:99999",
        "simulate://[::1:5",
        "sdk11:",
        "sdk9:finney",
        "os:path",
    ],
)
def test_a_url_that_leads_to_no_chain(url: str) -> None:
    with pytest.raises(ChainError, match="expected") as caught:
        connect(url, VALIDATOR)
    assert caught.value.code is Refusal.UNREACHABLE


# the command

FILE = """
format = 1
[chain]
seed = 3
first_block = 1000
[[subnet]]
netuid = 7
[subnet.hyperparameters]
tempo = 20
rate_limit_blocks = 2
min_allowed = 1
commit_reveal = false
[[subnet.neuron]]
name = "validator"
has_key = true
stake_rao = 1_000
permit = true
[[subnet.neuron]]
name = "miner"
count = 3
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "simulated.toml"
    path.write_text(FILE)
    return path


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_the_command_serves_a_file_until_it_is_told_to_end(file: Path, end: signal.Signals) -> None:
    views = []

    def ask(out: Output, _: Output) -> None:
        line = out.value()
        url = line.partition(": ")[0]
        assert line == f"{url}: a simulated chain at block 1001 with 1 subnet\n"
        control, view = Control(url), connect(url, signer_of("validator"))
        assert control.head() == view.head()
        assert [n.hotkey for n in view.neurons(7, 1001)] == [
            address_of(signer_of("validator")),
            *(hotkey_of(f"miner-{number}") for number in (1, 2, 3)),
        ]
        control.advance(2)
        assert view.submit_row(7, 0, ((1, 65535),), 0, LONG).kind == "included"
        assert view.row(7, 0, 0, control.advance()) == ((1, 65535),)
        assert [entry.is_signed for entry in control.log()] == [True]
        views.append(view)

    done = until_asked(ask, "chain", "simulate", "--file", file, "--stepped", end=end)
    assert (done.status, done.err) == (0, "")
    with pytest.raises(ChainError):
        views[0].head()


def test_blocks_come_by_themselves_unless_they_are_stepped(file: Path) -> None:
    hashes = []

    def follow(out: Output, _: Output) -> None:
        found = json.loads(out.value())
        assert found["subnets"] == [{"netuid": 7, "n": 4}]
        assert found["block"] == 1001
        hashes.append(found["block_hash"])
        control = Control(found["url"])
        while control.head().best < 1004:
            pass

    def stay(out: Output, _: Output) -> None:
        hashes.append(json.loads(out.value())["block_hash"])

    simulate = ("chain", "simulate", "--file", file, "--json")
    until_asked(follow, *simulate, "--block-time", "0.001", "--seed", "4")
    until_asked(stay, *simulate, "--stepped", "--seed", "4")
    until_asked(stay, *simulate, "--stepped", "--seed", "3")
    assert hashes[0] == hashes[1] != hashes[2]


def test_options_that_contradict_each_other_or_the_machine(file: Path) -> None:
    both = run("chain", "simulate", "--file", file, "--stepped", "--block-time", "1")
    assert (both.status, "found --stepped and --block-time" in both.err) == (2, True)
    public = run("chain", "simulate", "--host", "0.0.0.0")  # noqa: S104
    assert (public.status, "expected a loopback address" in public.err) == (2, True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        busy = run("chain", "simulate", "--port", str(port), "--stepped")
    assert busy.status == 2
    assert f"127.0.0.1:{port}: cannot listen" in busy.err
