"""Everything that fixed inputs come to: files, digests, and what each command tells programs.

The corpus was taken from the engine before it was restructured. It is made by the command line and
the public names alone, so that the same script runs on any tree::

    python tests/frozen/generate.py OUTPUT               # this tree
    python tests/frozen/generate.py OUTPUT --tree OTHER  # another, by its own .venv

What comes out is what programs read: results, receipts, rejects, facts, exports, figures, statuses,
every ``--json`` without its sentences. `declared` names what may differ; what changed for good is
taken by name, with the reason in the commit message::

    python tests/frozen/generate.py --take machine/lint-skills@1.0.0.json

A file ending in ``.lines`` has a digest for each line of something long.
"""

import argparse
import contextlib
import difflib
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Self

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EXPECTED = HERE / "expected"
RECORDS = HERE / "records.jsonl.gz"
LONG = 20_000
"""Characters above which a text is kept as the digests of its lines."""
RULE_SETS = ("skills@1.0.0", "skills@1.1.0", "workflow@1.0.0", "workflow@1.1.0")
HUMAN = ("message", "remedy", "summary", "title", "expected", "because", "claimed")
"""Keys of diagnostics whose values are sentences."""
LATER = ("period", "plugins", "proposal", "uncertainty", "incentives")
"""Keys that the summary of a back-test has gained; all others are what they were."""
LATER_OF_A_RECEIPT = ("rejects_digest",)
"""Keys that a receipt has gained."""
SOLVER = ("record", "other", "value", "other_value", "work", "found_by")
"""Keys of a proof that say what the solver happened to find, and by how many steps."""

Json = Any


class Done(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str


DRIVER = """
import io, json, sys, traceback
from contextlib import redirect_stderr, redirect_stdout

# the pictures of back-tests are for people, and take longer than all else of them
sys.modules["altair"] = None
source, answers = sys.stdin, sys.stdout
sys.stdin = io.StringIO()
for line in source:
    asked = json.loads(line)
    sys.argv = ["tallystick", *asked["command"]]
    out, err, status = io.StringIO(), io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            if "code" in asked:
                exec(asked["code"], {})
            else:
                from tallystick.cli.main import main

                main()
        except SystemExit as end:
            status = end.code or 0
        except BaseException:
            status = -1
            traceback.print_exc()
    print(json.dumps([status, out.getvalue(), err.getvalue()]), file=answers, flush=True)
"""
"""Runs one command after the other: a process for each would spend its time on imports."""


class Corpus:
    """A folder of artefacts that grows command by command."""

    def __init__(self, tree: Path, work: Path) -> None:
        self.tree = tree
        self.work = work
        self.texts: dict[str, str] = {}
        python = tree / ".venv" / "bin" / "python"
        self.python = str(python) if tree != ROOT and python.exists() else sys.executable
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
        } | {
            "TALLYSTICK_PLUGINS": "consensus,skills,workflow",
            "PYTHONDONTWRITEBYTECODE": "1",
            "COLUMNS": "100",
            "LC_ALL": "C.UTF-8",
        }
        self.driver = subprocess.Popen(
            [self.python, "-c", DRIVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            cwd=work,
            env=environment,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.driver.communicate(timeout=300)

    def keep(self, name: str, text: str) -> None:
        """An artefact, without what differs from run to run; it adds to what has its name."""
        key = f"machine/{name}"
        self.texts[key] = self.texts.get(key, "") + self.steady(text)

    def write(self, output: Path) -> None:
        """The corpus as a folder."""
        for key, text in self.texts.items():
            path, content = output / key, text
            if len(text) > LONG:
                path = path.with_name(path.name + ".lines")
                content = "".join(f"{_short(line)}\n" for line in text.splitlines())
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")

    def steady(self, text: str) -> str:
        """A text without folders, times, and digests of files that hold more than the content."""
        text = _INSTALLED.sub("<tree>/", text)
        for folder, name in ((self.work, "<work>"), (self.tree, "<tree>")):
            text = text.replace(str(folder), name)
        if text.startswith("pyarrow "):
            return text
        text = _FILES.sub(r"\1<files>", _CODE.sub(r'\1"<code>"', text))
        hidden = ("*.parquet", "report.html", "summary.json") if "sha256:" in text else ()
        for path in sorted(path for pattern in hidden for path in self.work.rglob(pattern)):
            text = text.replace(_sha256(path.read_bytes()), f"<sha256 of {path.name}>")
        return re.sub(
            r"\b\d+(\.\d+)? (ms|s|seconds?)\b(?= *$|[,;)])", "<time>", text, flags=re.MULTILINE
        )

    def do(self, *arguments: str | Path) -> "Done":
        """A command of the tree."""
        return self._ask({"command": [str(each) for each in arguments]})

    def program(self, code: str, *arguments: str | Path) -> str:
        """What a program that uses the public names prints."""
        done = self._ask({"code": code, "command": [str(each) for each in arguments]})
        assert done.status == 0, done.err
        return done.out

    def _ask(self, what: Json) -> "Done":
        self.driver.stdin.write(json.dumps(what) + "\n")
        self.driver.stdin.flush()
        line = self.driver.stdout.readline()
        assert line, "the process that runs the commands is gone"
        done = Done(*json.loads(line))
        assert "Traceback" not in done.err, done.err
        return done

    def end(self, name: str, *arguments: str | Path) -> None:
        """The status of a command that is told in words."""
        done = self.do(*arguments)
        self.keep("statuses.txt", f"{done.status} {name}\n")

    def tell(
        self, name: str, *arguments: str | Path, kept: Callable[[Json], Json] | None = None
    ) -> None:
        """The status of a command and what it tells programs; ``kept`` takes the sentences out."""
        done = self.do(*arguments, "--json")
        self.keep("statuses.txt", f"{done.status} {name}\n")
        self.keep(f"{name}.json", _pretty((kept or without_later)(json.loads(done.out))))

    def file(self, name: str, path: Path) -> None:
        """A file that a command wrote."""
        if path.suffix == ".html":
            return
        if path.suffix == ".parquet":
            self.keep(f"{name}.rows", parquet(path))
            found = f"pyarrow {pyarrow_version()}: {_sha256(path.read_bytes())}\n"
            self.keep(f"{name}.sha256", found)
        elif path.name == "summary.json":
            self.keep(name, _sorted(earlier(json.loads(path.read_text(encoding="utf-8")))))
        elif path.name.endswith(".receipt.json"):
            self.keep(name, _sorted(without_later(json.loads(path.read_text(encoding="utf-8")))))
        else:
            self.keep(name, path.read_text(encoding="utf-8"))


# what of a receipt changes with every line of code, and with what is installed
_CODE = re.compile(r'("code": )\{(?:[^{}]|\{[^{}]*\})*\}')
_FILES = re.compile(r'(code: |"(?:engine|code)": ")sha256:[0-9a-f]{64}')

# where a wheel has what a checkout has beside the engine
_INSTALLED = re.compile(r'[^"\s]*/tallystick/_data/')


def without_later(value: Json) -> Json:
    """What a command says to machines, as before receipts had gained keys."""
    if not isinstance(value, dict):
        return value
    return {key: each for key, each in value.items() if key not in LATER_OF_A_RECEIPT}


def _sha256(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def _short(line: str) -> str:
    return hashlib.sha256(line.encode()).hexdigest()[:16]


def _pretty(value: Json) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _sorted(value: Json) -> str:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def without(value: Json, keys: tuple[str, ...]) -> Json:
    """A value without keys and without nulls: a key may become null where it was left out."""
    if isinstance(value, dict):
        inner = {k: without(v, keys) for k, v in value.items() if k not in keys and v is not None}
        return dict(sorted(inner.items()))
    return [without(each, keys) for each in value] if isinstance(value, list) else value


def earlier(value: Json) -> Json:
    """A summary without the keys that it has gained."""
    if isinstance(value, dict):
        return {key: earlier(each) for key, each in value.items() if key not in LATER}
    return [earlier(each) for each in value] if isinstance(value, list) else value


def diagnostics(value: Json) -> Json:
    return without(value, HUMAN)


def of_scores(value: Json) -> Json:
    """A difference without what the linter is to accept, which the rule sets 1.1 have gained."""
    plain = diagnostics(value)
    changes = [each for each in plain["changes"] if not each["path"].startswith("lint.")]
    return {
        **plain,
        "sections": [each for each in plain["sections"] if each != "lint"],
        "changes": changes,
    }


def found_by_lint(value: Json) -> Json:
    """Every finding in its order, whether the rule set silences it or not."""
    plain = diagnostics(value)
    silenced = [{k: v for k, v in each.items() if k != "reason"} for each in plain["silenced"]]
    every = [*plain["findings"], *silenced]
    return {
        "findings": sorted(every, key=lambda each: (each["line"], each["path"], each["code"])),
        "silenced": [],
    }


def proofs(value: Json) -> Json:
    return without(value, HUMAN + SOLVER)


def parquet(path: Path) -> str:
    """A table line by line: its columns, what it says of itself, its rows."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    about = {k.decode(): v.decode() for k, v in (table.schema.metadata or {}).items()}
    head = [*(f"{each.name}: {each.type}" for each in table.schema), _pretty(about)]
    return "\n".join([*head, *(repr(row) for row in table.to_pylist())]) + "\n"


def pyarrow_version() -> str:
    """The bytes of a Parquet file name the library that wrote them."""
    return version("pyarrow")


def records() -> list[Json]:
    return [json.loads(line) for line in gzip.decompress(RECORDS.read_bytes()).splitlines()]


def jsonl(path: Path, values: list[Json]) -> Path:
    lines = (json.dumps(each, separators=(",", ":")) for each in values)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def spoiled(good: list[Json]) -> list[bytes]:
    """Lines that are wrong in many ways, each with good ones around it."""

    def put(value: Json, *path: str) -> Callable[[Json], None]:
        def edit(record: Json) -> None:
            for key in path[:-1]:
                record = record.setdefault(key, {})
            record[path[-1]] = value

        return edit

    def drop(*path: str) -> Callable[[Json], None]:
        def edit(record: Json) -> None:
            for key in path[:-1]:
                record = record[key]
            record.pop(path[-1], None)

        return edit

    edits = [
        put("levitation", "skill_type"),
        put(None, "skill_type"),
        drop("skill_type"),
        drop("task_id"),
        put("", "task_id"),
        put("x" * 5000, "task_id"),
        put(-1, "round"),
        put(2**31, "epoch"),
        put(1.0, "round"),
        put(1.5, "round"),
        put(True, "epoch"),
        put("1", "epoch"),
        put("", "miner", "hotkey"),
        put("h" * 65, "miner", "hotkey"),
        put(-5, "miner", "uid"),
        put("observer", "role"),
        put(2, "consensus"),
        put("1", "consensus"),
        put({}, "consensus"),
        put(["missed_deadline"], "events"),
        put(["slept"], "events"),
        put(["rerun_pass", "rerun_pass"], "events"),
        put("rerun_pass", "events"),
        put(1, "surplus"),
        put(1, "task", "surplus"),
        put(1, "submission", "surplus"),
        put("MAYBE", "submission", "verdict"),
        put(1.01, "submission", "risk_score"),
        put(-0.1, "submission", "risk_score"),
        put(10**10, "submission", "latency_ms"),
        put(12.5, "submission", "latency_ms"),
        put([{}], "submission", "findings"),
        put([{"resource": "r"}], "submission", "recommended_policy"),
        put("none", "submission", "recommended_policy"),
        put([{"resource": "r", "action": "a", "pattern": "p"}] * 1001, "task", "expected_policy"),
        put(10, "task", "deadline_s"),
        put(-1, "task", "t_min_s"),
        put(1e9, "task", "deadline_s"),
        put("yes", "checks", "probe_verified"),
        put([], "checks"),
        drop("checks"),
        drop("submission"),
        drop("task"),
        put(5, "checks", "steps_completed"),
        put(10**7, "checks", "timeouts"),
    ]
    lines: list[bytes] = []
    for number, edit in enumerate(edits * 2):
        record = json.loads(json.dumps(good[number * 2]))
        with contextlib.suppress(KeyError, AttributeError):
            edit(record)
        lines += [json.dumps(record).encode(), json.dumps(good[number * 2 + 1]).encode()]
    plain = json.dumps(good[0]).encode()
    deep = b"[" * 40 + b"]" * 40
    lines += [
        b"",
        b"   ",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        plain[:-1] + b',"round":1}',
        plain[:-1] + b',"surplus":NaN}',
        plain[:-1] + b',"consensus":1e999}',
        plain[:-1] + b',"task_id":"\\ud800"}',
        plain[:-1] + b',"surplus":' + deep + b"}",
        b"\xef\xbb\xbf" + plain,
        plain + b" " * (1 << 20),
        plain + b"\r",
    ]
    return lines


def scoring(corpus: Corpus) -> None:
    """Scoring of files, folders, facts and bad lines; receipts and rejects."""
    good = records()
    source = jsonl(corpus.work / "records.jsonl", good)
    bad = corpus.work / "bad.jsonl"
    bad.write_bytes(b"\n".join(spoiled(good)) + b"\n")
    parts = corpus.work / "parts"
    parts.mkdir()
    for number in range(3):
        jsonl(parts / f"{number}.jsonl", good[number * 80 : number * 80 + 80])
    facts = corpus.work / "facts.parquet"
    for name, given, output in (
        ("facts", source, facts),
        ("facts-bad", bad, corpus.work / "facts-bad.parquet"),
        ("facts-folder", parts, corpus.work / "facts-folder.parquet"),
    ):
        corpus.tell(name, "facts", given, "-o", output)
        outputs(corpus, name, output)
    for rules in RULE_SETS:
        for kind in ("jsonl", "csv", "parquet"):
            name = f"score-{rules}-{kind}"
            output = corpus.work / f"{name}.{kind}"
            corpus.tell(name, "score", source, "--rules", rules, "-o", output)
            outputs(corpus, name, output)
        name = f"score-bad-{rules}"
        corpus.tell(name, "score", bad, "--rules", rules, "-o", corpus.work / f"{name}.jsonl")
        outputs(corpus, name, corpus.work / f"{name}.jsonl")
        name = f"score-facts-{rules}"
        corpus.tell(name, "score", facts, "--rules", rules, "-o", corpus.work / f"{name}.jsonl")
        outputs(corpus, name, corpus.work / f"{name}.jsonl")
    output = corpus.work / "score-folder.jsonl"
    corpus.end("score-folder", "score", parts, "--rules", "skills@1.1.0", "-o", output)
    outputs(corpus, "score-folder", output)
    corpus.end(
        "generate", "records", "generate", "--seed", "5", "--count", "50", "-o", "made.jsonl"
    )
    corpus.file("made.jsonl", corpus.work / "made.jsonl")


def outputs(corpus: Corpus, name: str, output: Path) -> None:
    corpus.file(f"{name}{output.suffix}", output)
    for more in ("receipt.json", "rejects.jsonl"):
        corpus.file(f"{name}.{more}", output.with_name(f"{output.name}.{more}"))


def explaining(corpus: Corpus) -> None:
    for package, name in (("tallystick_skills", "skills"), ("tallystick_workflow", "workflow")):
        examples = corpus.tree / "plugins" / package / "examples.jsonl"
        for line in range(1, len(examples.read_text().splitlines()) + 1):
            for number in ("1.0.0", "1.1.0"):
                where = (examples, "--rules", f"{name}@{number}", "--line", str(line))
                corpus.tell(f"explain-{name}@{number}-{line}", "explain", *where)
    where = (corpus.work / "bad.jsonl", "--rules", "skills@1.0.0", "--line", "1")
    corpus.end("explain-bad", "explain", *where)


def rule_sets(corpus: Corpus) -> None:
    corpus.tell("rules-list", "rules", "list")
    for rules in RULE_SETS:
        corpus.tell(f"rules-show-{rules}", "rules", "show", rules)
        corpus.tell(f"rules-check-{rules}", "rules", "check", rules)
        corpus.tell(f"lint-{rules}", "rules", "lint", rules, kept=found_by_lint)
        corpus.tell(f"prove-{rules}", "rules", "prove", rules, kept=proofs)
    for name in ("skills", "workflow"):
        pair = (f"{name}@1.0.0", f"{name}@1.1.0")
        corpus.tell(f"diff-{name}", "rules", "diff", *pair, kept=of_scores)
    original = (corpus.tree / "rules" / "skills" / "1.0.0.toml").read_text(encoding="utf-8")
    for number, (old, new) in enumerate(EDITS):
        assert old in original, old
        path = corpus.work / f"edited-{number}.toml"
        path.write_text(original.replace(old, new, 1), encoding="utf-8")
        corpus.tell(f"rules-edited-{number}", "rules", "check", path, kept=diagnostics)


EDITS = (
    ('version = "1.0.0"', 'version = "1.0.0"\ntag = "x"'),
    ("format = 1", "format = 2"),
    ("base_weight = 1.6", 'base_weight = "1.6"'),
    ("base_weight = 1.6", "base_weight = -1.6"),
    ("detection = 0.3", "detection = 0.4"),
    ("skills/detection@1", "skills/detection@9"),
    ("[axes.detection]", "[axes.detection"),
    ("keep = 0.9", "keep = 9"),
    ("review = 0.5", "review = 0.55"),
)


def plugins(corpus: Corpus) -> None:
    """The list and a new one; that the shipped ones pass, the tests of the kit say."""
    corpus.tell("plugins-list", "plugins", "list")
    corpus.end("plugins-new", "plugins", "new", "acme-translation", "-o", "acme")


def histories(corpus: Corpus) -> None:
    """Back-tests: figures and tables."""
    weights = "skill_types.mcp_server.base_weight=1:2:0.5"
    for name, options in (
        ("plain", ("--rules", "skills@1.0.0", "--rules", "skills@1.1.0")),
        ("state", ("--rules", "skills@1.0.0", "--rules", "skills@1.1.0", "--with-state")),
        ("sweep", ("--rules", "skills@1.1.0", "--sweep", weights)),
        ("workflow", ("--rules", "workflow@1.0.0", "--rules", "workflow@1.1.0")),
    ):
        source = "records.jsonl" if name == "state" else "facts.parquet"
        folder = corpus.work / f"backtest-{name}"
        corpus.tell(f"backtest-{name}", "backtest", source, *options, "-o", folder)
        for path in sorted(folder.iterdir()):
            corpus.file(f"backtest-{name}-{path.name}", path)


def states(corpus: Corpus) -> None:
    """Histories of a state: every command on it, and what it exports."""
    good = records()
    for rules in RULE_SETS:
        state_history(corpus, rules, good)


def state_history(corpus: Corpus, rules: str, good: list[Json]) -> None:
    mine = [each for each in good if (each["skill_type"] == "workflow") == rules.startswith("w")]
    types = sorted({each["skill_type"] for each in mine})
    hotkeys = sorted({each["miner"]["hotkey"] for each in mine})
    name = f"state-{rules}"
    where = ("--state", "subnet.db")

    def tell(*arguments: str | Path) -> None:
        done = corpus.do(*arguments, *where, "--json")
        found = json.dumps(without_later(json.loads(done.out)))
        told = f"{done.status} {' '.join(map(str, arguments))}\n{found}\n"
        corpus.keep(f"{name}.txt", told)

    def tell_digests() -> None:
        done = corpus.do("state", "info", *where, "--json")
        info = json.loads(done.out)
        digests = {"digest": info["state_digest"], "epoch": info["epoch"]}
        digests |= {"rules_digest": info["rules_digest"]}
        # as the command told them that once printed these alone
        corpus.keep(f"{name}.txt", f"{done.status} state digest\n{json.dumps(digests)}\n")

    tell("state", "init", "--rules", rules)
    for uid, hotkey in enumerate(hotkeys):
        tell("miner", "register", hotkey, "--uid", str(uid), "--types", ",".join(types))
    for epoch in sorted({each["epoch"] for each in mine}):
        now = [each for each in mine if each["epoch"] == epoch]
        late, now = now[-3:], now[:-3]
        at = f"2026-01-0{epoch + 1}T"
        for number in sorted({each["round"] for each in now}):
            path = corpus.work / f"round-{number}.jsonl"
            jsonl(path, [each for each in now if each["round"] == number])
            tell("round", "close", path, "--round", str(number), "--at", f"{at}0{number}:00:00Z")
            corpus.do("round", "close", path, *where)
        told = zip(now, ("collusion_flag", "probe_fail", "rerun_pass") * 2, strict=False)
        events = [_event(each, event, index) for index, (each, event) in enumerate(told)]
        tell("events", "import", jsonl(corpus.work / "events.jsonl", [*events, *late]))
        tell("groups", "select", types[0], "--round", f"{epoch}9", "--seed", f"seed {epoch}")
        tell("weights", "--immune", hotkeys[0])
        if epoch == 1:
            tell("miner", "clear", hotkeys[0])
        tell("epoch", "close", "--epoch", str(epoch), "--at", f"{at}23:00:00Z")
        tell_digests()
        tell("state", "board", types[0])
    for hotkey in hotkeys[:4]:
        tell("state", "show", hotkey)
    last = max(each["epoch"] for each in mine)
    corpus.do("epoch", "close", "--epoch", str(last + 1), *where)
    tell("state", "verify")
    path = corpus.work / "export.jsonl"
    tell("state", "export", path)
    corpus.file(f"{name}-export.jsonl", path)
    output = corpus.work / f"{name}-score.jsonl"
    source = jsonl(corpus.work / "mine.jsonl", mine)
    tell("score", source, "--rules", rules, "-o", output)
    outputs(corpus, f"{name}-score", output)
    _remove(corpus.work, "subnet.db")
    tell("state", "import", path)
    tell_digests()
    _remove(corpus.work, "subnet.db")


def _event(record: Json, event: str, index: int) -> Json:
    return {
        "id": f"event-{record['epoch']}-{index}",
        "validator": record["validator"],
        "hotkey": record["miner"]["hotkey"],
        "skill_type": record["skill_type"],
        "task_id": record["task_id"],
        "round": record["round"],
        "epoch": record["epoch"],
        "event": event,
    }


def _remove(folder: Path, stem: str) -> None:
    for path in folder.glob(f"{stem}*"):
        path.unlink()


MISTAKES = (
    ("score", "absent.jsonl", "--rules", "skills@1.0.0", "-o", "out.jsonl"),
    ("score", "records.jsonl", "--rules", "skills@9.0.0", "-o", "out.jsonl"),
    ("score", "records.jsonl", "--rules", "skills@1.0.0", "-o", "out.txt"),
    ("score", "records.jsonl", "--rules", "skills@1.0.0@sha256:00", "-o", "out.jsonl"),
    ("explain", "records.jsonl", "--rules", "skills@1.0.0", "--line", "99999"),
    ("facts", "records.jsonl", "-o", "facts.csv"),
    ("backtest", "facts.parquet", "--rules", "skills@1.0.0", "-o", "records.jsonl"),
    ("backtest", "facts.parquet", "--rules", "skills@1.0.0", "--sweep", "a=1:2", "-o", "bt"),
    ("rules", "check", "absent.toml"),
    ("rules", "lint", "skills@1.0.0", "--select", "nonsense"),
    ("rules", "prove", "skills@1.0.0", "--property", "nonsense"),
    ("plugins", "check", "absent"),
    ("state", "show", "nobody", "--state", "absent.db"),
    ("epoch", "close", "--state", "records.jsonl"),
    ("state", "init", "--rules", "skills@1.0.0", "--state", "records.jsonl"),
    ("demo",),
)


def mistakes(corpus: Corpus) -> None:
    for number, arguments in enumerate(MISTAKES):
        corpus.end(f"mistake-{number:02}-{arguments[0]}", *arguments)
    corpus.tell("demo", "demo")


EMBEDDING = """
import json, sys
import tallystick

rules = sys.argv[2]
scorer = tallystick.load(rules)
print(scorer.digest)
names = ("task_id", "quality", "tier", "emission")
lines = open(sys.argv[1], "rb").read().splitlines()
for found in scorer.score_many(lines):
    if isinstance(found, tallystick.Reject):
        print(found.line, found.code, found.path)
    else:
        print(*(getattr(found, name) for name in names), dict(sorted(found.axes.items())))
for line in lines[:40]:
    try:
        found = scorer.score(json.loads(line))
    except tallystick.RecordError as error:
        print(error.code, error.path)
    else:
        print(*(getattr(found, name) for name in names))
"""


def embedding(corpus: Corpus) -> None:
    for rules in RULE_SETS:
        for name in ("records.jsonl", "bad.jsonl"):
            found = corpus.program(EMBEDDING, corpus.work / name, rules)
            corpus.keep(f"api-{rules}-{Path(name).stem}.txt", found)


SECTIONS = (scoring, explaining, rule_sets, plugins, histories, states, mistakes, embedding)


def generate(tree: Path, output: Path, sections: Sequence[str] = ()) -> None:
    """Write the corpus of a tree into an empty folder."""
    with tempfile.TemporaryDirectory(prefix="frozen-") as folder:
        with Corpus(tree.resolve(), Path(folder).resolve()) as corpus:
            for section in SECTIONS:
                if not sections or section.__name__ in sections:
                    section(corpus)
        corpus.write(output)


def content(folder: Path) -> dict[str, str]:
    """Every artefact of a corpus by name."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def differences(expected: Path, found: Path) -> dict[str, str]:
    """What differs between two corpora, by name, each with the first lines that do."""
    old, new = content(expected), content(found)
    return {
        name: _difference(old.get(name, ""), new.get(name, ""))
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name) and not _by_another_library(name, old, new)
    }


def _by_another_library(name: str, old: dict[str, str], new: dict[str, str]) -> bool:
    """Whether the bytes of a table may differ, as another version of the library wrote it."""
    if not name.endswith(".sha256") or name not in old or name not in new:
        return False
    return old[name].partition(":")[0] != new[name].partition(":")[0]


def _difference(old: str, new: str) -> str:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "frozen", "now", "", "", 1, "")
    shown = [line if len(line) < 300 else f"{line[:300]}…" for line in lines]
    return "\n".join([*shown[:40], *(["…"] if len(shown) > 40 else [])])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", nargs="?", type=Path)
    parser.add_argument("--tree", type=Path, default=ROOT)
    parser.add_argument("--take", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--sections", nargs="+", default=[], metavar="SECTION")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        output = options.output or Path(folder)
        generate(options.tree, output, options.sections)
        for name in options.take:
            target = EXPECTED / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(output / name, target)


if __name__ == "__main__":
    main()
