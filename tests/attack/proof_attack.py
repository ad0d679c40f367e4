"""Hostile notes, proofs, evidence, disputes, mappings and locks against whoever reads them.

What is accepted has to be what it says:

- of a note, a proof or evidence, what somebody has signed is what was signed;
- a dispute whose sides have both signed their roots has the verdict that it had;
- with a mapping, an audit comes to a verdict about every record;
- a lock is written again as the one that was read.
"""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random

from attack import hostile_files
from attack.hostile_lines import mixed
from audit.planted import at, nano_more, planted
from state.chronicle import feed, history
from trust import council

import tallystick
from tallystick.lock import lock_file
from tallystick.lock.write import lock_of
from tallystick.plugins.registry import installed_plugins
from tallystick_state.audit import published
from tallystick_state.audit.dispute import dispute, dispute_bytes, read_dispute
from tallystick_state.audit.evidence import write_evidence
from tallystick_state.audit.results_audit import audit_results
from tallystick_state.audit.side import opened_side
from tallystick_state.checkpoints import checkpoint, growth, row_proof
from tallystick_state.ledger import Ledger
from tallystick_state.trust.checkpoint import read_checkpoint, read_note
from tallystick_state.trust.proof import Proof, proof_bytes, read_proof

RULES = "skills@1.1.0"
ALICE, BOB, CAROL = map(council.signer, ("alice", "bob", "carol"))


def _spoilt(random: Random, data: bytes) -> bytes:
    """A file of JSON lines with other bytes, or another value in a line; seldom as it was."""
    if random.random() < 0.1:
        return data
    if random.random() < 0.4:
        return hostile_files.of_bytes(random, data)
    lines = data.split(b"\n")
    place = random.choice([n for n, line in enumerate(lines) if line])
    lines[place] = hostile_files.other_json(random, lines[place].decode()).encode(
        "utf-8", "surrogatepass"
    )
    return b"\n".join(lines)


@cache
def _lived(folder: Path) -> Path:
    """The folder of a state of two epochs: its checkpoint, proofs, evidence, and a dispute."""
    with Ledger.create(str(folder / "proven.db"), RULES) as ledger:
        for epoch in history(3, epochs=2):
            feed(ledger, epoch, folder)
            ledger.close_epoch()
            signed = checkpoint(ledger).signed(ALICE)
            (folder / f"checkpoint{ledger.open_epoch()}.txt").write_text(signed.to_text())
        first = read_checkpoint((folder / "checkpoint1.txt").read_bytes())
        (folder / "growth.json").write_bytes(proof_bytes(growth(ledger, first, signed)))
        with ledger.queries() as queries:
            hotkey, miner = min(queries.state.miners.items())
        key = (hotkey, min(miner.reputation))
        found = row_proof(ledger, 1, "reputations", key, signed)
        (folder / "row.json").write_bytes(proof_bytes(found))
        write_evidence(ledger, folder / "mine.jsonl", checkpoint=signed)
    change = at(0, nano_more("delta"))
    theirs = planted(folder / "mine.jsonl", folder / "theirs.jsonl", 1, "deltas", change, BOB)
    with opened_side(folder / "mine.jsonl") as a, opened_side(theirs) as b:
        (folder / "dispute.json").write_bytes(dispute_bytes(dispute(a, b, installed_plugins())))
    return folder


def note(folder: Path, random: Random) -> str:
    """A checkpoint, as a note, which others have signed too."""
    own = read_checkpoint((_lived(folder) / "checkpoint2.txt").read_bytes())
    whole = own.signed(BOB).signed(CAROL).to_text().encode()
    data = hostile_files.of_bytes(random, whole)
    signers = read_note(data).signers([ALICE.public])
    assert not signers or read_note(data).text == read_note(whole).text
    read_checkpoint(data)
    return "signed" if signers else "read"


def proof(folder: Path, random: Random) -> str:
    """A proof of a row, or that the log grew."""
    whole = (_lived(folder) / random.choice(("row.json", "growth.json"))).read_bytes()
    data = _spoilt(random, whole)
    found, good = read_proof(data, "proof.json"), read_proof(whole, "proof.json")
    found.check()
    if not found.signers([ALICE.public]):
        return "read"
    if isinstance(found, Proof) and isinstance(good, Proof):
        assert (found.epochs, found.rows) == (good.epochs, good.rows)
    else:
        assert type(found) is type(good)
    return "signed"


def evidence(folder: Path, random: Random) -> str:
    """Evidence, as a side of a dispute with the state that it is of."""
    whole, path = (_lived(folder) / "mine.jsonl").read_bytes(), folder / "changed.jsonl"
    path.write_bytes(_spoilt(random, whole))
    with opened_side(path) as side, opened_side(folder / "proven.db") as own:
        verdict = dispute(side, own, installed_plugins()).verdict
        signed = side.checkpoint is not None and side.checkpoint.signers([ALICE.public])
        covered = signed and side.checkpoint is not None and side.checkpoint.size
        if covered == len(own.leaves):
            assert verdict.kind == "equal"
            return "signed"
    return verdict.kind


def disputed(folder: Path, random: Random) -> str:
    """The file of a dispute."""
    whole = (_lived(folder) / "dispute.json").read_bytes()
    found = read_dispute(_spoilt(random, whole), "dispute.json")
    found.check(installed_plugins())
    sides = (("a", ALICE), ("b", BOB))
    if not all(found.proofs[side].signers([each.public]) for side, each in sides):
        return "read"
    assert found.verdict == read_dispute(whole, "dispute.json").verdict
    return "signed"


_MAPPING = """format = 1
missing = ["", "n/a"]

[columns]
record = "line"
task_id = "task"
miner_hotkey = "who"
tier = "level"
quality = "q"
"axes.policy" = "scores.pi"

[match]
by = ["task_id", "miner_hotkey"]

[numbers]
scale = "nano"

[values.tier]
T2 = "structured_automation"
"""


@cache
def _scored(folder: Path) -> Sequence[Path]:
    records, results = folder / "audited.jsonl", folder / "audited.csv"
    records.write_bytes(mixed("audited", 8, ("mcp_server", "declarative"), good=1).data)
    scorer = tallystick.load(RULES)
    scorer.score_file(records, results)
    return records, results


def mapped(folder: Path, random: Random) -> str:
    """A mapping, with which published results are audited."""
    (records, results), path = _scored(folder), folder / "mapping.toml"
    text = _MAPPING
    if random.random() < 0.5:
        for name in ("line", "task", "who", "level", "q"):
            ours = {"line": "record", "task": "task_id", "who": "miner_hotkey", "level": "tier"}
            text = text.replace(f'"{name}"', f'"{ours.get(name, "quality")}"')
    path.write_bytes(hostile_files.rule_set(random, text.encode()))
    found = audit_results(
        tallystick.load(RULES), records, results, mapping=published.read_mapping(path)
    )
    assert found.records == records.read_bytes().count(b"\n")
    return found.verdict


@cache
def _locked() -> bytes:
    return lock_of([tallystick.load(RULES)], Path.cwd()).to_text().encode()


def locked(_: Path, random: Random) -> str:
    """A lock."""
    whole = _locked()
    make = random.choice((hostile_files.of_bytes, hostile_files.rule_set))
    found = lock_file.parse(make(random, whole), "tallystick.lock")
    assert lock_file.parse(found.to_text().encode(), "again.lock") == found
    return "the same" if found == lock_file.parse(whole, "whole.lock") else "another"


KINDS: dict[str, Callable[[Path, Random], str]] = {
    "note": note,
    "proof": proof,
    "evidence": evidence,
    "dispute": disputed,
    "mapping": mapped,
    "lock": locked,
}
