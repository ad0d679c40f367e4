"""Hostile notes, proofs, mappings and locks against whoever reads them.

What is accepted has to be what it says:

- of a note or a proof, what somebody has signed is what was signed;
- with a mapping, an audit comes to a verdict about every record;
- a lock is written again as the one that was read.
"""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random

from attack import hostile_files
from attack.hostile_lines import mixed, of_bytes
from state.chronicle import feed, history
from trust import council

import tallystick
from tallystick.lock import lock_file
from tallystick.lock.write import lock_of
from tallystick_state.audit import published
from tallystick_state.audit.results_audit import audit_results
from tallystick_state.checkpoints import checkpoint, row_proof
from tallystick_state.ledger import Ledger
from tallystick_state.trust.checkpoint import read_checkpoint, read_note
from tallystick_state.trust.proof import proof_bytes, read_proof

RULES = "skills@1.1.0"
ALICE, BOB, CAROL = map(council.signer, ("alice", "bob", "carol"))


def _spoilt(random: Random, data: bytes) -> bytes:
    """A file of JSON lines with other bytes, or another value in a line; seldom as it was."""
    if random.random() < 0.1:
        return data
    if random.random() < 0.4:
        return of_bytes(random, data)
    lines = data.split(b"\n")
    place = random.choice([n for n, line in enumerate(lines) if line])
    lines[place] = hostile_files.other_json(random, lines[place].decode()).encode(
        "utf-8", "surrogatepass"
    )
    return b"\n".join(lines)


@cache
def _lived(folder: Path) -> Path:
    """The folder of a state of two epochs: its checkpoints, and a proof."""
    with Ledger.create(str(folder / "proven.db"), RULES) as ledger:
        for epoch in history(3, epochs=2):
            feed(ledger, epoch, folder)
            ledger.close_epoch()
            signed = checkpoint(ledger).signed(ALICE)
            (folder / f"checkpoint{ledger.open_epoch()}.txt").write_text(signed.to_text())
        with ledger.queries() as queries:
            hotkey, miner = min(queries.state.miners.items())
        key = (hotkey, min(miner.reputation))
        found = row_proof(ledger, 1, "reputations", key, signed)
        (folder / "row.json").write_bytes(proof_bytes(found))
    return folder


def note(folder: Path, random: Random) -> str:
    """A checkpoint, as a note, which others have signed too."""
    own = read_checkpoint((_lived(folder) / "checkpoint2.txt").read_bytes())
    whole = own.signed(BOB).signed(CAROL).to_text().encode()
    data = of_bytes(random, whole)
    signers = read_note(data).signers([ALICE.public])
    assert not signers or read_note(data).text == read_note(whole).text
    read_checkpoint(data)
    return "signed" if signers else "read"


def proof(folder: Path, random: Random) -> str:
    """A proof of a row."""
    whole = (_lived(folder) / "row.json").read_bytes()
    data = _spoilt(random, whole)
    found, good = read_proof(data, "proof.json"), read_proof(whole, "proof.json")
    found.check()
    if not found.checkpoint.signers([ALICE.public]):
        return "read"
    assert (found.leaf, found.step, found.row) == (good.leaf, good.step, good.row)
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
    make = random.choice((of_bytes, hostile_files.rule_set))
    found = lock_file.parse(make(random, whole), "tallystick.lock")
    assert lock_file.parse(found.to_text().encode(), "again.lock") == found
    return "the same" if found == lock_file.parse(whole, "whole.lock") else "another"


KINDS: dict[str, Callable[[Path, Random], str]] = {
    "note": note,
    "proof": proof,
    "mapping": mapped,
    "lock": locked,
}
