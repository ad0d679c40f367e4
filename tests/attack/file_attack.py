"""Hostile files against whoever reads their kind, and what has to hold whatever they hold.

A file is read or refused with an error of the engine, never with another one. Beyond that:

- of a table, every row is read, with its number;
- a compressed file that is read gives what its lines give, and one that is whole is read;
- a rule set that loads scores, and its digest is the same when it is loaded again;
- a state takes all of a file of events or nothing, and its log leads to what it holds;
- an export or a store that is accepted is the one that was written;
- every group of a trust file is reached by all of its keys and by nobody's; a wallet signs by the
  key of its address;
- what `mapping_attack` says of mappings and locks, and `population_attack` of populations, groups
  and metagraphs.
"""

import json
import zlib
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

import pyarrow as pa
from attack import hostile_files, mapping_attack, population_attack
from attack.hostile_lines import MINERS, mixed, of_bytes
from attrs import field, frozen
from cli.command import ROOT
from state.chronicle import feed, history
from state.signing import Key
from trust import council

import tallystick
from tallystick.errors import InputError, RefusedError, TallystickError
from tallystick.io.parquet import ParquetReader
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify
from tallystick_state.rules import state_rules_of
from tallystick_state.rules_in_force import RulesInForce, begun
from tallystick_state.store.store import Store
from tallystick_state.transfer import export_state, import_state
from tallystick_state.trust.signers import read_wallet
from tallystick_state.trust.trust_file import read as read_trust_file

RULES = "skills@1.2.0"
RULE_SETS = ("skills@1.1.0", "skills@1.2.0", "workflow@1.2.0")
_SKILLS = ("rag_knowledge", "declarative", "mcp_server")


@frozen
class Files:
    """Attacks with files, in a folder of their own.

    Attributes:
        found: by kind and outcome, how many.
    """

    folder: Path
    found: Counter[tuple[str, str]] = field(factory=Counter)

    def attack(self, kind: str, seed: object) -> None:
        """Make one hostile file of a kind and read it."""
        random = Random(f"{kind} {seed}")
        try:
            outcome = KINDS[kind](self.folder, random)
        except TallystickError as error:
            outcome = type(error).__name__
        self.found[kind, outcome] += 1


@cache
def _scorer(rules: str) -> tallystick.Scorer:
    return tallystick.load(rules)


def _table(folder: Path, random: Random) -> str:
    path = folder / "records.parquet"
    path.write_bytes(hostile_files.parquet(random))
    with ParquetReader(path) as reader:
        numbers = [number for number, _ in reader.rows()]
    assert numbers == list(range(1, reader.footer.num_rows + 1))
    return "read"


def _compressed(folder: Path, random: Random) -> str:
    lines = mixed(random.random(), 10, _SKILLS, good=0.5).data
    end, data = hostile_files.compressed(random, lines)
    path, plain = folder / f"records{end}", folder / "plain.jsonl"
    path.write_bytes(data)
    whole = _decompressed(end, data)
    try:
        found = _scored(path)
    except InputError:
        assert not whole
        raise
    assert whole is not None
    plain.write_bytes(whole)
    assert found == _scored(plain)
    return "read"


def _decompressed(end: str, data: bytes) -> bytes | None:
    """What a compressed file holds, by another reader; None if that refuses it."""
    try:
        if end.endswith(".gz"):
            return _gunzipped(data)
        with pa.input_stream(pa.BufferReader(data), compression="zstd") as stream:
            found: bytes = stream.read()
            return found
    except (OSError, zlib.error):
        return None


def _gunzipped(data: bytes) -> bytes | None:
    """All members one after the other; nothing else may follow, as zeros on a tape would."""
    found = b""
    while data:
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        found += member.decompress(data)
        if not member.eof:
            return None
        data = member.unused_data
    return found


def _scored(path: Path) -> tuple[bytes, bytes]:
    """Results and rejects."""
    output = path.with_name("out.jsonl")
    _scorer(RULES).score_file(path, output)
    return output.read_bytes(), output.with_name("out.jsonl.rejects.jsonl").read_bytes()


@cache
def _rule_set_of(name: str) -> bytes:
    family, _, version = name.partition("@")
    return (ROOT / "rules" / family / f"{version}.toml").read_bytes()


def _rule_set(folder: Path, random: Random) -> str:
    path = folder / "rules.toml"
    path.write_bytes(hostile_files.rule_set(random, _rule_set_of(random.choice(RULE_SETS))))
    scorer = tallystick.load(path)
    data = mixed("rules", 8, tuple(scorer.types), good=1).lines()
    assert sum(1 for _ in scorer.score_many(data)) == len(data)
    return "read"


@cache
def _ledger(folder: Path) -> Ledger:
    ledger = Ledger.create(str(folder / "events.db"), RULES)
    for uid, hotkey in enumerate(MINERS):
        ledger.register(hotkey, uid, ["executable_python", "mcp_server"])
    return ledger


def _events(folder: Path, random: Random) -> str:
    path, ledger = folder / "events.jsonl", _ledger(folder)
    path.write_bytes(hostile_files.events(random))
    before, refused = _entries(ledger), list[int]()
    try:
        random.choice((ledger.import_events, ledger.close_round))(path)
    except RefusedError as error:
        refused = [each.line for each in error.refusals]
    if refused:
        assert _entries(ledger) == before
        assert 1 <= min(refused) <= max(refused) <= path.read_bytes().count(b"\n")
    if random.random() < 0.02:
        verify(ledger)
    return "refused" if refused else "taken"


def _entries(ledger: Ledger) -> int:
    with ledger.queries() as queries:
        return queries.head.entries


@cache
def _exported(folder: Path) -> bytes:
    with Ledger.create(str(folder / "good.db"), "skills@1.1.0") as ledger:
        for epoch in history(3, epochs=2):
            feed(ledger, epoch, folder)
            ledger.select_group("executable_python", 1, "seed")
            ledger.close_epoch()
        export_state(ledger, folder / "good.export.jsonl")
    return (folder / "good.export.jsonl").read_bytes()


def _export(folder: Path, random: Random) -> str:
    whole, path, where = _exported(folder), folder / "export.jsonl", folder / "imported.db"
    data = hostile_files.export(random, whole)
    path.write_bytes(data)
    where.unlink(missing_ok=True)
    import_state(path, where)
    with Ledger.open(where) as ledger:
        verify(ledger)
        export_state(ledger, path)
    assert path.read_bytes() == data
    return "the same" if data == whole else "another"


@cache
def _stored(folder: Path) -> bytes:
    _exported(folder)
    import_state(folder / "good.export.jsonl", folder / "good.copy.db")
    return (folder / "good.copy.db").read_bytes()


@cache
def _in_force() -> RulesInForce:
    rules = state_rules_of(_scorer("skills@1.1.0"))
    return begun([rules], rules.registry)


def _store(folder: Path, random: Random) -> str:
    whole, path = _stored(folder), folder / "store.db"
    for each in folder.glob("store.db*"):
        each.unlink()
    hostile_files.store(random, whole, path)
    with Ledger(Store.open(str(path)), _in_force()) as ledger:
        verify(ledger)
        export_state(ledger, folder / "store.export.jsonl")
    assert (folder / "store.export.jsonl").read_bytes() == _exported(folder)
    return "the same"


def _trust_file(folder: Path, random: Random) -> str:
    groups = {"council": {"keys": ["alice", "bob"], "threshold": 2}}
    keys = {name: council.key(name, hotkey=council.hotkey(name)) for name in ("alice", "bob")}
    good = council.root(keys=keys, groups=groups)
    path = folder / "trust.toml"
    path.write_bytes(of_bytes(random, good.text.encode()))
    found = read_trust_file(path)
    for group in found.groups.values():
        assert 1 <= group.threshold <= len({found.keys[name].public for name in group.keys})
    return "the same" if found.digest == good.digest else "another"


def _wallet(folder: Path, random: Random) -> str:
    path, alice = folder / "hotkey", council.signer("alice", "sr25519")
    said = {
        "secretSeed": f"0x{Key('alice').seed.hex()}",
        "ss58Address": council.hotkey("alice"),
    }
    # what is not read may be anything
    said["secretPhrase"] = "word " * 99
    path.write_bytes(of_bytes(random, json.dumps(said).encode()))
    path.chmod(0o600)
    found = read_wallet(path)
    assert found.public.verifies(b"message", found.sign(b"message"))
    return "the same" if found.public == alice.public else "another"


KINDS: dict[str, Callable[[Path, Random], str]] = {
    "table": _table,
    "compressed": _compressed,
    "rule set": _rule_set,
    "events": _events,
    "export": _export,
    "store": _store,
    "trust file": _trust_file,
    "wallet": _wallet,
    **mapping_attack.KINDS,
    **population_attack.KINDS,
}
