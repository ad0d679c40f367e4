"""One of each command, one after the other in one folder, as who tries a checkout would."""

import json
from pathlib import Path

import pytest
from cli.command import ENDLESS, ROOT, SKILLS, paths, run
from consensus.vectors import cases
from state.subnet import event, written
from trust.council import key_file, tables, toml

from tallystick_state.ledger import Ledger

pytestmark = [
    pytest.mark.smoke,
    pytest.mark.nightly,
    pytest.mark.usefixtures("private_files"),
]

HOTKEYS = tuple(f"5ExampleMinerHotkey{number}" for number in range(1, 8))
TYPES = "rag_knowledge,declarative,executable_python,executable_script,mcp_server,agent_composition"
RULES = ("--rules", "skills@1.0.0")
REWARD = ("--rules", "reward@1.0.0")
STATE = ("--state", "subnet.db")
NAMED = ("--state", "named.db")
TRUSTING, SHARING = ("--state", "trusting.db"), ("--state", "sharing.db")
POOLS = ("--pool", "skills=0.7", "--pool", "workflow=0.3", "--at-epoch", "2")
ROW = ("--epoch", "0", "--step", "reputations", "--row-key", f'["{HOTKEYS[0]}","mcp_server"]')
BY_ALICE = ("--key", "alice.pem", "-o", "signed.json")
NETWORK = ("--network", "network.toml")
CHAIN = "simulate:chain.toml"
STEPS: tuple[tuple[tuple[str, ...], int], ...] = (
    (("demo",), 0),
    (("rules", "list"), 0),
    (("rules", "show", "workflow@1.0.0"), 0),
    (("rules", "check", "workflow@1.0.0"), 0),
    (("rules", "digest", "workflow@1.0.0"), 0),
    (("rules", "diff", "workflow@1.0.0", "workflow@1.1.0"), 0),
    (("rules", "lint", "workflow@1.1.0"), 0),
    (("rules", "paths", "workflow@1.1.0", "gate"), 0),
    (("rules", "set", "workflow@1.1.0", "axes.cost.gate=0.6", "-o", "new.toml"), 0),
    (("rules", "prove", "workflow@1.1.0", "--property", "composite-monotone"), 0),
    (("rules", "gate", "default"), 0),
    (("simulate", "workflow@1.1.0", "--strategy", "idle", "--epochs", "1", "-o", "simulated"), 0),
    (("lock", *RULES, "--self-test"), 0),
    (("lock", "--check"), 0),
    (("plugins", "list"), 0),
    (("plugins", "new", "acme-translation"), 0),
    (("plugins", "check", "workflow"), 0),
    (("records", "generate", "--seed", "1", "--count", "60", "-o", "records.jsonl"), 0),
    (("score", str(SKILLS), *RULES, "-o", "results.parquet"), 0),
    (("allocate", "scores.csv", "--rules", "workflow@1.1.0", "-o", "weights.json"), 0),
    (("audit", "records", str(SKILLS), *RULES, "--results", "results.parquet"), 0),
    (("consensus", "groups.jsonl", *RULES, "-o", "consensus.jsonl"), 0),
    (("explain", str(SKILLS), *RULES, "--line", "3"), 0),
    (("facts", "records.jsonl", "-o", "facts.parquet"), 0),
    (("backtest", "facts.parquet", *RULES, "--rules", "skills@1.1.0", "-o", "report"), 0),
    (("state", "init", *RULES, *STATE), 0),
    *(
        (("miner", "register", hotkey, "--uid", str(uid), "--types", TYPES, *STATE), 0)
        for uid, hotkey in enumerate(HOTKEYS)
    ),
    (("state", "export", "genesis.jsonl", *STATE), 0),
    (("state", "import", "genesis.jsonl", "--state", "other.db"), 0),
    (("state", "rebuild", *STATE), 0),
    (("round", "close", "round.jsonl", *STATE), 0),
    (("round", "close", "round.jsonl", *STATE, "--facts", "kept"), 0),
    (("events", "import", "round.jsonl", *STATE), 0),
    (("groups", "select", "mcp_server", "--round", "1", "--seed", "a", *STATE), 0),
    (("miner", "clear", HOTKEYS[0], *STATE), 0),
    (("epoch", "close", "--epoch", "0", *STATE), 0),
    (("round", "list", *STATE), 0),
    (("round", "show", "0", *STATE), 0),
    (("epoch", "list", *STATE), 0),
    (("epoch", "show", "0", *STATE), 0),
    (("miner", "list", *STATE), 0),
    (("miner", "sync", "miners.csv", *STATE), 0),
    (("state", "info", *STATE), 0),
    (("state", "show", HOTKEYS[0], *STATE), 0),
    (("state", "board", "mcp_server", *STATE), 0),
    (("state", "verify", *STATE), 0),
    (("weights", *STATE), 0),
    (("new", "validator", "trial", "--netuid", "7", *REWARD, "--simulated"), 0),
    (("chain", "network", "network.toml"), 0),
    (("chain", "snapshot", "--chain", CHAIN, *NETWORK, "-o", "snapshot.json"), 0),
    (("chain", "weights", "--chain", CHAIN, *NETWORK, "--hotkey", "5None", *STATE), 2),
    (("miner", "sync", "--chain", CHAIN, *NETWORK, *STATE), 0),
    (("yuma", str(ROOT / "tests" / "vectors" / "yuma.json"), "--check"), 0),
    (("state", "adopt", "skills@1.1.0", "--at-epoch", "9", *STATE), 0),
    (("state", "rules", *STATE), 0),
    (("state", "withdraw", *STATE), 0),
    (("state", "init", "--rules", "skills@1.2.0", *NAMED, "--validator", "5Me"), 0),
    (("miner", "register", HOTKEYS[0], "--uid", "0", "--types", TYPES, *NAMED), 0),
    (("events", "import", "late.jsonl", *NAMED), 0),
    (("quarantine", "list", *NAMED), 0),
    (("quarantine", "accept", "--round", "1", *NAMED), 0),
    (("quarantine", "drop", "--validator", "5Peer", *NAMED), 0),
    (("keys", "new", "new.pem", "--no-password"), 0),
    (("keys", "show", "alice.pem"), 0),
    (("sign", "rule-set", "skills@1.1.0", *BY_ALICE), 0),
    (("sign", "receipt", "results.parquet.receipt.json", *BY_ALICE), 0),
    (("sign", "trust", "trust.toml", *BY_ALICE), 0),
    (("sign", "events", "late.jsonl", "--validator", "5Peer", *BY_ALICE, *TRUSTING), 0),
    (("sign", "adoption", "skills@1.1.0", "--at-epoch", "2", *BY_ALICE, *TRUSTING), 0),
    (("sign", "join", "signed.json", "signed.json", "-o", "signed.json"), 0),
    (
        ("state", "adopt", "skills@1.1.0", "--at-epoch", "2", "--signed", "signed.json", *TRUSTING),
        0,
    ),
    (("sign", "withdrawal", *BY_ALICE, *TRUSTING), 0),
    (("sign", "pools", *POOLS, *BY_ALICE, *SHARING), 0),
    (("state", "adopt", *POOLS, "--signed", "signed.json", *SHARING), 0),
    (
        (
            *("sign", "carry", "carry.json", "--rules", "skills@1.0.0"),
            *("--trust", "trust.toml", *BY_ALICE),
        ),
        0,
    ),
    (("trust", "new", "trust-2.toml", "--after", "trust.toml"), 0),
    (("trust", "check", "trust.toml"), 0),
    (("trust", "rotate", "trust.toml", *NAMED), 0),
    (("verify", "signed.json"), 1),
    (("state", "checkpoint", "-o", "checkpoint.txt", *STATE), 0),
    (("state", "verify", "--checkpoint", "checkpoint.txt", *STATE), 0),
    (("state", "proof", *ROW, "-o", "proof.json", *STATE), 0),
    (("verify", "proof.json"), 1),
    (("audit", "states", "subnet.db", "subnet.db"), 0),
    (("epoch", "close", "--epoch", "1", *STATE), 0),
    (("state", "prune", "--keep", "1", *STATE), 0),
)


NETWORK_FILE = """format = 1
network = { name = "demo", netuid = 7, anchor_block = 10 }
rounds = { blocks = 10 }
epochs = { rounds = 4 }
weights = { at = 2 }
"""
SUBNET_FILE = """format = 1
[chain]
finality_lag = 0
[[subnet]]
netuid = 7
neuron = [{ hotkey = "5Alpha" }]
"""


def test_one_of_each_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    records = map(json.loads, SKILLS.read_bytes().splitlines()[:6])
    written(Path("round.jsonl"), [each | {"round": 0, "epoch": 0} for each in records])
    late = [event(f"e{n}", "rerun_fail", "t", HOTKEYS[0], round=n) for n in range(2)]
    written(Path("late.jsonl"), [each | {"validator": "5Peer"} for each in late])
    written(Path("groups.jsonl"), [case["group"] for case in cases("consensus")])
    Path("carry.json").write_text('{"format": 1, "miners": {}}')
    Path("miners.csv").write_text(f"uid,hotkey,types\n0,{HOTKEYS[0]},mcp_server\n")
    Path("scores.csv").write_text(f"hotkey,uid,quality\n{HOTKEYS[0]},0,0.5\n{HOTKEYS[1]},1,0.25\n")
    council = {"council": {"keys": ["alice"], "threshold": 1}}
    Path("trust.toml").write_text(toml(tables(groups=council)))
    Path("alice.pem").write_bytes(key_file("alice"))
    Ledger.create(TRUSTING[1], "skills@1.0.0", trust="trust.toml").close()
    Ledger.create(SHARING[1], ["skills@1.0.0", "workflow@1.0.0"], trust="trust.toml").close()
    Path("network.toml").write_text(NETWORK_FILE)
    Path("chain.toml").write_text(SUBNET_FILE)
    for step, expected in STEPS:
        found = run(*step)
        assert found.status == expected, (step, found)
        assert found.out or expected, step


def test_no_command_is_left_out() -> None:
    commands = paths(of_groups=False) - ENDLESS
    assert {step[:n] for step, _ in STEPS for n in (1, 2, 3)} & commands == commands
