"""What an operator asks a state every day, and why an answer is empty."""

import json
from pathlib import Path

import pytest
from cli.command import message_of, run
from cli.stores import PYTHON, RAG, Subnet
from state.subnet import record

from tallystick_state.ledger import Ledger


def test_info_is_the_state_at_a_glance(subnet: Subnet) -> None:
    subnet.do("epoch", "close", "--epoch", "0")
    said = subnet.do("state", "info", "--json").json()
    closed = subnet.do("epoch", "close", "--epoch", "0", "--json").json()
    with Ledger.open(subnet.where) as ledger, ledger.queries() as queries:
        rules_digest, state_digest = queries.rules_digest(), queries.digest()
    assert said == {
        "state": str(subnet.where),
        "rule_set": "skills@1.0.0",
        "digest": run("rules", "digest", "skills@1.0.0").out.strip(),
        "epoch": 1,
        "snapshot": closed["snapshot"],
        "miners": 2,
        "slots": 2,
        "last_round": 0,
        "closed_rounds": 1,
        "open_events": 0,
        "entries": 7,
        "hash": said["hash"],
        "rules_digest": rules_digest,
        "state_digest": state_digest,
    }
    assert "rule set" in subnet.do("state", "info").out


def test_the_miners_are_listed_by_slot(subnet: Subnet) -> None:
    found = subnet.do("miner", "list", "--json").json()
    assert found["epoch"] == 0
    assert found["miners"][0] == {
        "hotkey": "hk-1",
        "uid": 1,
        "types": [PYTHON, RAG],
        "reputation": {PYTHON: "0.500000000", RAG: "0.500000000"},
        "flags": 0,
    }
    assert [each["hotkey"] for each in found["miners"]] == ["hk-1", "hk-2"]
    only = subnet.do("miner", "list", "--type", RAG, "--json").json()
    assert [each["hotkey"] for each in only["miners"]] == ["hk-1"]
    assert subnet.do("miner", "list").out.splitlines()[1:3] == [
        "slot  hotkey  skill type         reputation",
        f"1     hk-1    {PYTHON}  0.500000000",
    ]


def test_a_list_of_256_miners_is_one_command(subnet: Subnet) -> None:
    path = subnet.folder / "miners.csv"
    rows = "".join(f"{uid},new-{uid},{PYTHON}\n" for uid in range(2, 256))
    path.write_text(f"uid,hotkey,types\n0,hk-2,{PYTHON}\n1,hk-1,{PYTHON}\n{rows}")
    found = subnet.do("miner", "sync", path, "--json").json()
    assert len(found.pop("registered")) == 254
    assert found == {"moved": ["hk-2"], "changed": ["hk-1"], "retired": [], "unchanged": 0}
    path.write_text(f"uid,hotkey,types\n1,hk-1,{PYTHON}\n")
    said = subnet.do("miner", "sync", path).out
    assert said.startswith("change      miners  hotkeys\nretired        255  hk-2, new-10")
    assert said.endswith("unchanged        1\n")
    path.write_text("uid,hotkey,types\n1,hk-1,levitation\n")
    refused = subnet.do("miner", "sync", path, "--json")
    assert refused.status == 1
    assert refused.json()["refusals"][0]["code"] == "unknown-skill-type"


def test_rounds_are_listed_and_shown(subnet: Subnet) -> None:
    subnet.do("events", "import", subnet.lines(record("t9", round=4)))
    first = {
        "round": 0,
        "epoch": 0,
        "closed": True,
        "at": "2026-01-01T00:00:00.000000Z",
        "records": 2,
        "miners": 2,
    }
    fifth = {"round": 4, "epoch": 0, "closed": False, "at": None, "records": 1, "miners": 1}
    assert subnet.do("round", "list", "--json").json() == {"rounds": [first, fifth]}
    assert subnet.do("round", "list", "--last", "1", "--json").json() == {"rounds": [fifth]}
    scores = {"hk-1": "2.300000000", "hk-2": "1.150000000"}
    assert subnet.do("round", "show", "0", "--json").json() == {**first, "scores": scores}
    assert "closed 2026-01-01" in subnet.do("round", "show", "0").out
    assert "not closed" in subnet.do("round", "list").out
    absent = message_of(subnet.do("round", "show", "3"))
    assert absent == "found no record of round 3, expected a round that has: some from 0 to 4"


def test_epochs_are_listed_and_shown(subnet: Subnet) -> None:
    closed = subnet.do("epoch", "close", "--epoch", "0", "--at", "2026-01-02", "--json").json()
    found = subnet.do("epoch", "list", "--json").json()["epochs"]
    assert [(each["epoch"], each["open"], each["events"]) for each in found] == [
        (0, False, 2),
        (1, True, 0),
    ]
    assert found[0]["at"].startswith("2026-01-02")
    assert found[1]["snapshot"] == closed["snapshot"]
    shown = subnet.do("epoch", "show", "1", "--json").json()
    assert {name: shown[name] for name in found[1]} == found[1]
    assert shown["previous"] == found[0]["snapshot"]
    assert shown["reputation"]["hk-1"][PYTHON] == "0.452000000"
    assert set(shown["thresholds"][PYTHON]) == {"baseline", "novel"}
    assert "it began with 2 miners" in subnet.do("epoch", "show", "1").out
    assert "expected 0 to 1, the open one" in message_of(subnet.do("epoch", "show", "2"))
    assert len(subnet.do("epoch", "list", "--last", "1").out.splitlines()) == 2


@pytest.fixture
def empty(tmp_path: Path) -> Subnet:
    found = Subnet(tmp_path / "s.db", tmp_path)
    found.do("state", "init", "--rules", "skills@1.0.0")
    return found


EMPTY = (
    (("weights",), "uids", "no miner is registered"),
    (("miner", "list"), "miners", "no miner is registered"),
    (("miner", "list", "--type", RAG), "miners", f"no miner declares {RAG}"),
    (("round", "list"), "rounds", "no record is recorded yet"),
    (("state", "board", RAG), "board", f"no miner declares {RAG}"),
    (("groups", "select", RAG, "--round", "1", "--seed", "x"), "primaries", "no miner declares"),
)


@pytest.mark.parametrize(("command", "key", "reason"), EMPTY)
def test_an_empty_answer_says_why(
    empty: Subnet, command: tuple[str, ...], key: str, reason: str
) -> None:
    found = empty.do(*command, "--json").json()
    assert found[key] == []
    assert found["reason"].startswith(reason)
    assert found["reason"] in empty.do(*command).out


def _slots(subnet: Subnet, hotkey: str) -> Path:
    path = subnet.folder / "miners.jsonl"
    path.write_text(json.dumps({"uid": 1, "hotkey": hotkey, "types": [PYTHON]}))
    return path


def test_who_cannot_be_selected_is_counted(subnet: Subnet) -> None:
    path = _slots(subnet, "hk-2")
    subnet.do("miner", "sync", path)
    found = subnet.do("state", "board", RAG, "--json").json()
    assert found["reason"] == f"1 miner of {RAG}: 1 without a slot"
