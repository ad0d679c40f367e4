"""Refusals of commands: the exit status, the code, the words that matter, and nothing is changed.

One table for all commands, by the words that their rows have in common.
"""

import shlex
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import attrs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli.command import SKILLS, run
from cli.stores import PYTHON
from consensus.vectors import cases
from state.subnet import written
from trust.council import key_file

FILE = Path(__file__).parents[2] / "rules" / "skills" / "1.0.0.toml"
ZEROS = "0" * 64
DIGITS = "12 to 64 lower-case hexadecimal digits"
PINNED = "the rule set is not the same"
POOLS = "--pool skills=0.7 --pool workflow=0.3"


@attrs.frozen
class Mistake:
    """A command that is refused.

    Attributes:
        command: its words.
        words: what its message says.
        code: that of its message, as ``--json`` has it; empty for none.
    """

    command: str
    words: str
    code: str = ""


TABLE: Mapping[str, Sequence[tuple[str, ...]]] = {
    "score records.jsonl --rules skills@1.0.0": (
        ("-o out", ".jsonl, .parquet, .csv, or --format"),
        ("-o out.xml", "out.xml: "),
        ("-o out.jsonl.gz", "out.jsonl.gz: "),
        ("-o out.jsonl --format xml", "'xml'"),
        ("-o records.jsonl", "a file for each"),
        ("-o link.jsonl", "a file for each"),
        ("-o inner/../records.jsonl", "a file for each"),
        ("-o out.jsonl --rejects records.jsonl", "a file for each"),
        ("-o out.jsonl --rejects out.jsonl", "a file for each"),
        ("-o out.jsonl --rejects out.jsonl.receipt.json", "a file for each"),
        ("-o absent/out.jsonl", "absent/out.jsonl: "),
        ("-o records.jsonl/out.jsonl", "records.jsonl/out.jsonl: "),
        ("-o inner", "inner: a folder, expected the name of a file to write"),
        ("-o out.jsonl --rejects absent/bad.jsonl", "absent/bad.jsonl: "),
        ("-o out.jsonl --rejects inner", "inner: "),
        ("-o taken.jsonl", "taken.jsonl.receipt.json: "),
        ("-o /proc/tallystick.jsonl", "/proc/tallystick.jsonl: the file cannot be written ("),
        ("-o '' --format jsonl", "expected the name of a file"),
        ("-o / --format jsonl", "expected the name of a file"),
        ("-o loop.jsonl", "loop.jsonl"),
    ),
    "score": (
        ("absent.jsonl --rules skills@1.0.0 -o out.jsonl", "absent.jsonl: no such file: check"),
        ("absent.parquet --rules skills@1.0.0 -o out.jsonl", "no such file: check the name"),
        ("loop.jsonl --rules skills@1.0.0 -o out.jsonl", "loop.jsonl"),
        ("records.jsonl --rules workflow@1.9.9 -o out.jsonl", "workflow@1.9.9"),
    ),
    "explain --rules skills@1.0.0": (
        ("absent.jsonl", "absent.jsonl: no such file: check the name"),
        ("inner", "the folder is empty, expected .jsonl, .jsonl.gz, .jsonl.zst or .parquet"),
        ("empty.jsonl", "empty.jsonl: the file is empty"),
        ("broken.parquet", "cannot be read as Parquet"),
        ("records.jsonl --line 8", "found fewer than 8 records, expected one at that line"),
        ("records.jsonl --line 0", "0 is not in the range"),
        ("records.jsonl --line 1.5", "'1.5' is not a valid integer"),
        ("records.jsonl --line " + "9" * 30, "9" * 30),
    ),
    "records generate --seed 1 --miners 12 --count 5 -o out.jsonl": (
        (
            "--types levitation",
            "--types: found levitation, expected some of reward, ",
        ),
        ("--types mcp_sever", "did you mean 'mcp_server'?"),
        ("--types ' , '", "--types: found no skill type, expected some of"),
        ("--count 0", "0 is not in the range x>=1"),
        ("--miners 65537", "65537 is not in the range 1<=x<=65536"),
        ("--seed x", "'x' is not a valid integer"),
        ("-o - --json", "both want the standard output: name a file"),
        ("-o inner", "a folder, expected the name of a file to write"),
    ),
    "rules prove workflow@1.1.0": (
        ("--budget nan", "found nan, expected millions of steps"),
        ("--json --markdown", "expected one of --json, --markdown and --verbose"),
        ("--property x", "found no property 'x', expected one of axis-in-range,"),
        ("--save no/such/folder", "cannot be written (no such file or directory)"),
    ),
    "rules digest": (
        ("skills", "skills without a version"),
        ("skills@9.9.9", "skills@1.0.0, skills@1.1.0"),
        ("skils@1.0.0", "skills@1.0.0"),
        ("photosynthesis@7.7.7", "workflow@1.1.0"),
        ("''", "name@version"),
        ("sha256:", DIGITS),
        ("sha256:b8fb", DIGITS),
        (f"sha256:{'B' * 64}", DIGITS),
        (f"sha256:{ZEROS}0", DIGITS),
        (f"sha256:{ZEROS}", "the digest of a shipped rule set"),
        (f"skills@1.0.0@sha256:{ZEROS}", PINNED),
        (f"skills@1.0.0@sha256:{ZEROS[:12]}", PINNED),
        (f"{FILE}@sha256:{ZEROS}", PINNED),
        ("absent/rules.toml", "no such file"),
        ("./", "is a directory"),
        ("a\0b.toml", "null byte"),
        ("~nosuchuser/rules.toml", "nosuchuser"),
    ),
    "rules": (
        ("show skills", "skills without a version"),
        ("check absent.toml", "absent.toml: the file: expected a rule-set file"),
        ("check ./", "is a directory"),
    ),
    "rules set workflow@1.1.0 -o new.toml": (
        ("axes.cost", "expected PATH=VALUE"),
        ("axes.cots.gate=1", "did you mean 'axes.cost.gate'"),
        (f"tiers.levels[{'9' * 5000}].multiplier=1", "expected a value of the rule set"),
        ("axes.cost.gate=0.7", "found nothing that changes workflow@1.1.0"),
        ("axes.cost.gate=high", "found 'high' for axes.cost.gate"),
        ("axes.cost.gate=1e-3", "found '1e-3' for axes.cost.gate"),
        ("axes.success.weight=1.5", "expected 0 to 1"),
        ("'allocation.steps[mean].publish=yes'", "expected true or false"),
        ("skill_types.workflow=1", "skill_types.workflow, expected a value"),
        ("axes.cost.gate=1.5", "workflow@1.1.0[axes.cost.gate=1.5]: axes.cost.gate: found 1.5"),
        ("axes.cost.gate=0.6 -o -", "-: found the standard output, expected the name of a file"),
        ("axes.cost.gate=0.6 rule_set.version=1.1.1", "1.1.1 after 1.1.0, expected a minor one"),
    ),
    "consensus groups.jsonl": (
        ("--rules workflow@1.1.0 -o out.jsonl", "the section"),
        ("--rules skills@1.1.0 -o groups.jsonl", "in one file"),
        ("--rules skills@1.1.0 -o - --json", "standard output"),
        ("--rules skills@1.1.0 -o x --records-output y", "--records"),
        ("--rules skills@1.1.0 -o no/such/folder.jsonl", "folder"),
        ("--rules skills@1.1.0 -o x.jsonl --records t.parquet", "expected records as JSONL"),
    ),
    "epoch close --state state.db": (
        ("", "epoch 0 is open, so add --epoch 0"),
        ("--epoch 1", "epoch 1"),
        ("--epoch -1", "--epoch"),
        ("--epoch 0 --at nonsense", "nonsense"),
        ("--epoch 0 --at ''", "--at"),
        ("--epoch 0 --at 10000-01-01", "10000-01-01"),
    ),
    "miner register --state state.db": (
        (f"hk-3 --uid 65536 --types {PYTHON}", "65536"),
        (f"hk-3 --uid x --types {PYTHON}", "'x'"),
        ("hk-3 --uid 3 --types ' , '", "found no skill type"),
        (f"hk-3 --uid 3 --types {PYTHON},python", "python"),
        (f"'' --uid 3 --types {PYTHON}", "hotkey"),
        (f"bad\udcff --uid 3 --types {PYTHON}", "udcff"),
    ),
    "groups select --state state.db": (
        ("python --round 1 --seed x", "python"),
        (f"{PYTHON} --round -1 --seed x", "--round"),
        (f"{PYTHON} --round {2**64 - 1} --seed x", f"{2**64 - 1}"),
        (f"{PYTHON} --round 1", "--seed"),
        (f"{PYTHON} --round 1 --seed x --epoch 4", "4"),
        (f"{PYTHON} --round 1 --seed \udcff", "udcff"),
    ),
    "": (
        ("state board python --state state.db", "python"),
        ("state show nobody --state state.db", "nobody"),
        ("miner clear nobody --state state.db", "nobody"),
        ("weights --immune nobody --state state.db", "nobody"),
        ("state init --rules skills@1.0.0 --state state.db", "state.db"),
        ("round close no-such-file.jsonl --state state.db", "no-such-file.jsonl"),
        ("events import inner --state state.db", "inner"),
        ("consensus t.parquet --rules skills@1.1.0 -o x.jsonl", "found Parquet, expected one"),
        ("yuma absent.json", "absent.json: no such file"),
        ("yuma cut.json", "cut.json: the file: found"),
        ("yuma nan.json", "n: found NaN"),
        ("yuma list.json", "the case: found [], expected an object"),
        ("yuma deep.json", "nested"),
    ),
    "state adopt --state state.db": (
        ("skills@1.1.0", "--at-epoch"),
        ("--at-epoch 9", "found RULES and --pool, or neither"),
        ("skills@1.1.0 --at-epoch 0", "0"),
        (f"skills@1.1.0 --at-epoch {2**31}", f"{2**31}"),
        ("skills@1.1.0 --at-epoch 9 --block -1", "-1"),
        ("skills@1.1.0 --at-epoch 9 --signed none.json", "none.json"),
        ("none@1.0.0 --at-epoch 9", "none@1.0.0"),
        ("workflow@1.0.0 --at-epoch 9", "workflow", "other-line"),
        ("skills@1.0.0 --at-epoch 9", "skills@1.0.0", "same-rules"),
    ),
    "state adopt --at-epoch 1 --state shared.db": (
        (f"skills@1.2.0 {POOLS}", "found RULES and --pool, or neither"),
        ("--idle equal", "--idle goes with --pool"),
        ("--pool skills", "found 'skills', expected LINE=SHARE"),
        (f"{POOLS} --pool skills=0.1", "each line once"),
        (f"{POOLS} --idle burn:uid:x", "expected a hotkey, "),
        ("--pool skills=0.7", "expected one for each line of the state"),
    ),
    "quarantine": (
        ("drop --state named.db", "found no claim, expected CLAIM, --validator or --round"),
        ("drop 1 --round 1 --state named.db", "found claims and a filter, expected one of both"),
        ("accept 1 --state named.db", "found the number 1, expected that of a claim"),
        ("list --reason nonsense --state named.db", "found 'nonsense' for --reason, expected some"),
    ),
    "sign rule-set skills@1.1.0 -o out.json": (
        ("", "--key"),
        ("--key alice.pem --wallet eve", "--key"),
        ("--sign-with true", "--public"),
        (f"--public ed25519:{'00' * 32}", "--public"),
        ("--key alice.pem --public nonsense", "nonsense"),
    ),
}
MISTAKES = [
    Mistake(f"{head} {row[0]}".strip(), *row[1:]) for head, rows in TABLE.items() for row in rows
]


@pytest.fixture(scope="module")
def folder(begun: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files that commands are wrong about, and states of each kind."""
    found = tmp_path_factory.mktemp("mistakes")
    shutil.copy(SKILLS, found / "records.jsonl")
    shutil.copy(begun / "state.db", found)
    written(found / "groups.jsonl", [cases("consensus")[0]["group"]])
    (found / "inner").mkdir()
    (found / "taken.jsonl.receipt.json").mkdir()
    (found / "link.jsonl").symlink_to(found / "records.jsonl")
    (found / "loop.jsonl").symlink_to(found / "loop.jsonl")
    pq.write_table(pa.table({"task_id": ["a"]}), found / "t.parquet")
    (found / "alice.pem").write_bytes(key_file("alice"))
    (found / "alice.pem").chmod(0o600)
    texts = {"empty.jsonl": "", "broken.parquet": "PAR1", "cut.json": "{", "list.json": "[]"}
    texts |= {"nan.json": '{"steps": [{"input": {"n": NaN}}]}', "deep.json": "[" * 5000}
    for name, text in texts.items():
        (found / name).write_text(text)
    init = ("state", "init", "--rules", "skills@1.1.0")
    lines = ("--rules", "workflow@1.1.0", *shlex.split(POOLS))
    assert run(*init, *lines, "--state", found / "shared.db").status == 0
    assert run(*init, "--validator", "val-own", "--state", found / "named.db").status == 0
    return found


def look(folder: Path) -> dict[str, bytes | list[str] | None]:
    """Everything in a folder; of a state what its tables hold."""
    found: dict[str, bytes | list[str] | None] = {}
    for path in folder.rglob("*"):
        if path.suffix == ".db":
            with closing(sqlite3.connect(path)) as connection:
                found[path.name] = [*connection.iterdump()]
        elif not path.name.endswith(("-wal", "-shm")):
            found[path.name] = path.read_bytes() if path.is_file() else None
    return found


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda each: each.command[:60])
def test_a_mistake_is_told_and_changes_nothing(
    mistake: Mistake, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    before = look(folder)
    words = shlex.split(mistake.command)
    found = run(*words)
    assert found.status == 2
    assert mistake.words in found.err
    assert "rror: " in found.err
    if mistake.code:
        assert run(*words, "--json").json()["code"] == mistake.code
    assert look(folder) == before
