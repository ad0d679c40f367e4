"""The configuration of a daemon: each mistake is told with its file, line and path."""

import os
from pathlib import Path

import attrs
import pytest

from tallystick.errors import InputError
from tallystick_validator.configuration import LIVE, Configuration, reread

WHOLE = """format = 1
[validator]
state = "subnet.db"
network = "network.toml"
folder = "daemon"
adoptions = "adoptions"
attributes = "round.json"
[chain]
url = "sdk10:finney"
key = "5FqRLmHshqtep3zEA9JmJaidNNrF6sj2r3q3yXVeW6wmYCXH"
poll_seconds = 0.5
deadline_seconds = 10
[intake]
folder = "records"
socket = "in.sock"
waiting_mebibytes = 2
[exchange]
peers = ["http://198.51.100.7:8090"]
[weights]
set = false
[checkpoints]
folder = "checkpoints"
key = "key.pem"
password_file = "password"
[service]
host = "127.0.0.1"
port = 0
allow_hosts = ["board.example"]
[log]
level = "debug"
"""
LEAST = """format = 1
[validator]
state = "postgresql://host/name"
network = "/etc/network.toml"
folder = "daemon"
[chain]
url = "sdk11:finney"
key = "hotkey"
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "validator.toml"
    path.write_text(text)
    return path


def test_every_key_is_read(tmp_path: Path) -> None:
    configuration = Configuration.load(written(tmp_path, WHOLE))
    assert configuration.state == str(tmp_path / "subnet.db")
    assert configuration.records == tmp_path / "records"
    assert configuration.waiting_bytes == 2 << 20
    assert configuration.poll_seconds == 0.5
    defaults = Configuration.load(written(tmp_path, LEAST))
    names = [field.name for field in attrs.fields(Configuration)]
    same = {name for name in names if getattr(configuration, name) == getattr(defaults, name)}
    # a key that nobody reads would have its default
    assert same == {"path", "folder", "host"}


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("//alice", str),
        ("5FqRLmHshqtep3zEA9JmJaidNNrF6sj2r3q3yXVeW6wmYCXH", str),
        ("/keys/hotkey", Path),
        # a digit of its checksum is wrong
        ("/5FqRLmHshqtep3zEA9JmJaidNNrF6sj2r3q3yXVeW6wmYCXX", Path),
    ],
)
def test_a_key_is_what_it_looks_like(tmp_path: Path, key: str, kind: type) -> None:
    text = LEAST.replace('key = "hotkey"', f'key = "{key}"')
    assert Configuration.load(written(tmp_path, text)).key == kind(key)


def test_paths_are_of_the_folder_of_the_file(tmp_path: Path) -> None:
    configuration = Configuration.load(written(tmp_path, LEAST))
    assert configuration.state == "postgresql://host/name"
    assert configuration.network == Path("/etc/network.toml")
    assert configuration.folder == tmp_path / "daemon"


@pytest.mark.parametrize(
    ("before", "after", "place", "message"),
    [
        ("format = 1", "format = 2", ":1: format", "found 2"),
        ('state = "subnet.db"\n', "", ":2: validator.state", "which is missing"),
        ('folder = "daemon"', "folder = 5", ":5: validator.folder", "found 5"),
        ('"sdk10:finney"', '""', ":9: chain.url", 'found ""'),
        ("sdk10:finney", "simulate://127.0.0.1:9944", ":9: chain.url", "simulate:FILE"),
        ("sdk10:finney", "simulate:", ":9: chain.url", "simulate:FILE"),
        ("sdk10:finney", "http://node", ":9: chain.url", "found the chain"),
        ("sdk10:finney", "sdk12:finney", ":9: chain.url", "found the chain"),
        ("sdk10:finney", "sdk11:", ":9: chain.url", "found the chain"),
        ("sdk10:finney", "sdk11:http://node", ":9: chain.url", "found the chain"),
        ("sdk10:finney", "sdk11:ws://node:99999", ":9: chain.url", "found the chain"),
        ('folder = "daemon"', 'folder = "~/daemon"', ":5: validator.folder", "without ~"),
        ('socket = "in.sock"', 'socket = "~/in.sock"', ":15: intake.socket", "without ~"),
        ("poll_seconds = 0.5", "poll_seconds = 0", ":11: chain.poll_seconds", "found 0"),
        ("poll_seconds = 0.5", "poll_seconds = nan", ":11: chain.poll_seconds", "found nan"),
        ("key = ", "keys = ", ":10: chain.keys", "did you mean 'key'?"),
        ("[log]", "[rounds]\nblocks = 3\n[log]", ":29: rounds", "it beside validator.network"),
        ("set = false", "at = 3", ":20: weights.at", "found it beside validator.network"),
        ('network = "network.toml"\n', "", ":2: validator", "found no network, expected one of"),
        ('"http://198.51.100.7:8090"', '"ftp://x"', ":18: exchange.peers", 'found "ftp://x"'),
        ("port = 0", "port = 70000", ":27: service.port", "found 70000"),
        ('level = "debug"', 'level = "loud"', ":30: log.level", 'found "loud"'),
        ('key = "key.pem"\n', "", ":23: checkpoints.password_file", "expected none without"),
        ("[log]", "[log", ":29", "TOML"),
    ],
)
def test_a_mistake_is_told_by_its_place(
    tmp_path: Path, before: str, after: str, place: str, message: str
) -> None:
    assert before in WHOLE
    path = written(tmp_path, WHOLE.replace(before, after, 1))
    with pytest.raises(InputError) as caught:
        Configuration.load(path)
    assert f"{path}{place}" in str(caught.value)
    assert message in str(caught.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        Configuration.load(tmp_path / "nothing.toml")


def test_a_second_look_changes_what_is_live_and_names_the_rest(tmp_path: Path) -> None:
    current = Configuration.load(written(tmp_path, WHOLE))
    text = WHOLE.replace("poll_seconds = 0.5", "poll_seconds = 2").replace("port = 0", "port = 1")
    written(tmp_path, text)
    newer, live, rest = reread(current)
    assert (live, rest) == (("poll_seconds",), ("port",))
    assert (newer.poll_seconds, newer.port) == (2.0, 0)
    assert {*LIVE} <= {field.name for field in attrs.fields(Configuration)}


@pytest.mark.parametrize(
    "url",
    ["sdk10:ws://[::1]:9944", "sdk11:finney", "sdk10:ws://node:9944", "sdk11:wss://node/path"],
)
def test_urls_of_chains_are_taken(tmp_path: Path, url: str) -> None:
    path = written(tmp_path, WHOLE.replace("sdk10:finney", url))
    assert Configuration.load(path).url == url


def test_a_second_look_waits_for_no_pipe(tmp_path: Path) -> None:
    current = Configuration.load(written(tmp_path, WHOLE))
    current.path.unlink()
    os.mkfifo(current.path)
    with pytest.raises(InputError, match="found no file"):
        reread(current)
