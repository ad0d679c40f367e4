"""A forger's last step: hashes and digests that fit what somebody changed in a store or a log.

They find accidents. What is said of a store that somebody changed on purpose has to be found
without them.
"""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from tallystick.canonical import digest_of_bytes
from tallystick_state.chain import GENESIS_HASH, chained
from tallystick_state.store.tables import DOCUMENTS


def reseal(path: Path) -> None:
    """Make the hash of each entry and the digest of each document those of what it holds now."""
    with closing(sqlite3.connect(path, isolation_level=None)) as driver:
        # a copy that a power failure may take
        driver.execute("PRAGMA synchronous = OFF")
        driver.execute("BEGIN")
        for seq, kind, body, previous in driver.execute(
            "SELECT seq, kind, body, previous FROM tallystick_log"
        ).fetchall():
            found = bytes.fromhex(chained(previous.hex(), seq, str(kind), str(body)).hash)
            driver.execute("UPDATE tallystick_log SET hash = ? WHERE seq = ?", (found, seq))
        for table in DOCUMENTS:
            key = table.keys[0]
            for value, body in driver.execute(f"SELECT {key}, body FROM {table}").fetchall():  # noqa: S608  # ours
                data = body if isinstance(body, bytes) else str(body).encode()
                change = f"UPDATE {table} SET digest = ? WHERE {key} = ?"  # noqa: S608  # ours
                driver.execute(change, (digest_of_bytes(data), value))
        driver.execute("COMMIT")


Pairs = list[tuple[str, str]]
Edit = Callable[[Pairs], object]
"""Changes the kinds and bodies of a log in place."""


def forged(source: Path, target: Path, edit: Edit) -> Path:
    """The file of an export whose log was edited and chained anew."""
    lines = source.read_text(encoding="utf-8").splitlines(keepends=True)
    target.write_text("".join(rechained(lines, edit)), encoding="utf-8")
    return target


def rechained(lines: list[str], edited: Edit) -> list[str]:
    """The file of a log that was edited and chained anew, as a forger would."""
    entries = [json.loads(line) for line in lines[1:]]
    pairs = [(each["kind"], canonical(each["body"])) for each in entries]
    edited(pairs)
    made, last = list[str](), GENESIS_HASH
    for number, (kind, body) in enumerate(pairs, 1):
        last = chained(last, number, kind, body).hash
        made.append(f'{{"hash":"{last}","seq":{number},"kind":"{kind}","body":{body}}}\n')
    header = {"entries": len(pairs), "hash": last, "tallystick_state": 9}
    return [json.dumps(header, separators=(",", ":")) + "\n", *made]


def canonical(body: object) -> str:
    return json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
