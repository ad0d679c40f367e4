"""Files that a stranger may send, or that somebody edited: what a mutator makes of each kind.

A file is mutated as bytes, as the text or the table that it is, or as a whole. Who reads it may
refuse it with an error of the engine; what is accepted has to be what it says.
"""

import gzip
import io
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from attack.hostile_lines import MINERS, good_record, hostile, of_bytes, spoilt
from records.mutations import KEYS, NUMBERS, TEXTS
from state.resealed import rechained, reseal
from state.subnet import event, record


def compressed(random: Random, lines: bytes) -> tuple[str, bytes]:
    """Lines, compressed in one or two parts, whole or spoilt; and how the name of the file ends."""
    end, compress = random.choice(tuple(COMPRESS.items()))
    data = lines
    if random.random() < 0.2:
        # a few bytes that stand for many
        data += random.choice((b"\n" * 3000, b" " * (3 << 20), b"[" * (3 << 20), b"{}\n" * 3000))
    cut = random.randrange(len(data)) if random.random() < 0.3 else 0
    parts = [each for each in (data[:cut], data[cut:]) if each or random.random() < 0.1]
    made = b"".join(map(compress, parts))
    match random.randrange(4):
        case 0:
            made = of_bytes(random, made)
        case 1:
            made += random.choice((b"\0", b"\0" * 700, b"x", b"\x1f\x8b", made[:9]))
        case _:
            pass
    return end, made


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".jsonl.gz": gzip.compress,
    ".jsonl.zst": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
}


def parquet(random: Random) -> bytes:
    """Records as Parquet, with columns of odd types, odd values or none at all."""
    records = [good_record(random, "mcp_server", n) for n in range(random.choice((1, 3, 20)))]
    for each in records:
        each.pop("consensus", None)
    table = pa.Table.from_pylist(records)
    if random.random() < 0.5:
        table = _odd_table(random, table)
    file = io.BytesIO()
    pq.write_table(
        table,
        file,
        compression=random.choice(("none", "snappy", "zstd", "gzip")),
        row_group_size=random.choice((1, 2, 1000)),
        use_dictionary=random.random() < 0.5,
        store_schema=random.random() < 0.5,
    )
    data = file.getvalue()
    if random.random() < 0.7:
        # what the file says of itself is at its end
        keep = random.choice((0, len(data) // 2, max(0, len(data) - 4000)))
        data = data[:keep] + of_bytes(random, data[keep:])
    return data


_COLUMNS: tuple[Callable[[int], pa.Array], ...] = (
    pa.nulls,
    lambda rows: pa.array([float("nan")] * rows),
    lambda rows: pa.array([2**62] * rows, pa.timestamp("us")),
    lambda rows: pa.array([2**62] * rows, pa.duration("s")),
    lambda rows: pa.array([2**30] * rows, pa.date32()),
    lambda rows: pa.array([1] * rows, pa.decimal128(38, 37)),
    lambda rows: pa.array([b"\xff"] * rows),
    lambda rows: pa.array([["x"]] * rows),
    lambda rows: pa.array([[("a", 1), ("a", 2)]] * rows, pa.map_(pa.string(), pa.int64())),
    lambda rows: pa.array([{"uid": 1, "hotkey": "x"}] * rows),
    lambda rows: pa.array([[[[[[[[1]]]]]]]] * rows),
    lambda rows: pa.array(["x" * 5000] * rows).dictionary_encode(),
    lambda rows: pa.array([2**64 - 1] * rows, pa.uint64()),
    lambda rows: pa.array([1.0] * rows, pa.float16()),
    lambda rows: pa.array(["é\u202e"] * rows, pa.large_string()),
    lambda rows: pa.array([["a"]] * rows, pa.list_(pa.string(), 1)),
)


def _odd_table(random: Random, table: pa.Table) -> pa.Table:
    column = random.choice(_COLUMNS)(table.num_rows)
    name = random.choice((*table.column_names, *KEYS))
    place = table.schema.get_field_index(name)
    match random.randrange(4):
        case 0 if place >= 0:
            return table.remove_column(place)
        case 1 if place >= 0:
            return table.append_column(name, column)
        case _:
            return (
                table.append_column(name, column)
                if place < 0
                else table.set_column(place, name, column)
            )


_TOML = (
    *("0x" + "f" * 9000, "0b" + "1" * 9000, "1" * 5000, "0." + "1" * 5000, "1e999999", "-1", "nan"),
    *(
        "inf",
        "true",
        '""',
        "[]",
        "{}",
        "1979-05-27T07:32:00Z",
        '"""',
        "'",
        "\x1b[2J",
        "\u202e",
        "\r",
    ),
    *("[" * 400, "{a=" * 200, "[[a]]", "a." * 300 + "b = 1", '"\\ud800"', '"\\U00110000"', "\x00"),
    *("\n[axes]\n", "\n[a" + ".a" * 400 + "]\n", "#" * 70_000, "\ufeff", "skills/policy@1", "é"),
)


def rule_set(random: Random, whole: bytes) -> bytes:
    """A rule-set file with other values, keys or lines, or with far too many of them."""
    text = whole.decode()
    for _ in range(random.choice((1, 1, 2, 10))):
        lines = text.split("\n")
        place = random.randrange(len(lines))
        line = lines[place]
        match random.randrange(9):
            case 0:
                del lines[place]
            case 1:
                lines.insert(place, random.choice(lines))
            case 2 | 3 if "=" in line:
                values = (*_TOML, *NUMBERS, *(f'"{each}"' for each in TEXTS))
                lines[place] = f"{line.partition('=')[0]}= {random.choice(values)}"
            case 4 if "=" in line:
                key = json.dumps(random.choice(KEYS))
                lines[place] = f"{key} ={line.partition('=')[2]}"
            case 5:
                many = random.choice((10, 1000))
                lines[place:place] = [f"k{n} = {n}" for n in range(many)]
            case 6:
                other = random.randrange(len(lines))
                lines[place], lines[other] = lines[other], lines[place]
            case 7:
                at = random.randrange(len(line) + 1)
                lines[place] = line[:at] + random.choice(_TOML) + line[at:]
            case _:
                found = [n for n, each in enumerate(line) if each.isdigit()]
                at = random.choice(found or [0])
                lines[place] = line[:at] + random.choice(NUMBERS) + line[at + 1 :]
        text = "\n".join(lines)
    data = text.encode("utf-8", "surrogatepass")
    return of_bytes(random, data) if random.random() < 0.2 else data


_EVENTS = ("collusion_flag", "rerun_pass", "rerun_fail", "probe_fail", "parse_failure")


def events(random: Random) -> bytes:
    """Late events and records, forged, repeated, contradicting each other, or spoilt."""
    lines = list[bytes]()
    for _ in range(random.choice((1, 5, 30))):
        task, hotkey = f"t{random.randrange(5)}", random.choice(MINERS)
        who: dict[str, Any] = {"validator": random.choice(("val-0", "val-1"))}
        who |= {"round": random.randrange(3), "epoch": random.choice((0, 0, 0, 1, 7))}
        if random.random() < 0.5:
            made = event(f"e{random.randrange(9)}", random.choice(_EVENTS), task, hotkey, **who)
        else:
            made = record(task, hotkey, consensus=random.choice((None, 0.1, 1.0)), **who)
        made["surplus" if random.random() < 0.05 else "task_id"] = task
        if random.random() < 0.3:
            lines.append(hostile(random, made))
        else:
            line = json.dumps(made).encode()
            lines.append(spoilt(random, line) if random.random() < 0.1 else line)
        if random.random() < 0.1:
            lines.append(random.choice(lines))
    return b"".join(line + b"\n" for line in lines)


def export(random: Random, whole: bytes) -> bytes:
    """An exported state whose bytes or entries were changed; a forger chains them anew."""
    if random.random() < 0.3:
        return of_bytes(random, whole)
    lines = whole.decode().splitlines(keepends=True)
    if random.random() < 0.3:
        place, other = (random.randrange(len(lines)) for _ in range(2))
        match random.randrange(3):
            case 0:
                del lines[place]
            case 1:
                lines.insert(place, lines[other])
            case _:
                lines[place], lines[other] = lines[other], lines[place]
        return "".join(lines).encode()
    return "".join(rechained(lines, lambda pairs: _edit(random, pairs))).encode()


def _edit(random: Random, pairs: list[tuple[str, str]]) -> None:
    for _ in range(random.choice((1, 1, 2))):
        place = random.randrange(len(pairs))
        kind, body = pairs[place]
        match random.randrange(5):
            case 0:
                del pairs[place]
            case 1:
                pairs.insert(random.randrange(len(pairs) + 1), pairs[place])
            case 2:
                pairs[place] = random.choice(pairs)[0], body
            case _:
                pairs[place] = kind, other_json(random, body)


def other_json(random: Random, body: str) -> str:
    """Another value somewhere in a canonical JSON text, which stays one as far as it can."""
    value = json.loads(body)
    holders = list[tuple[Any, Any]]()
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list):
            holders += [
                (each, key) for key in (each if isinstance(each, dict) else range(len(each)))
            ]
            waiting += each.values() if isinstance(each, dict) else each
    if not holders:
        return "null"
    holder, key = random.choice(holders)
    if random.random() < 0.2:
        del holder[key]
    else:
        others = (None, -1, 2**70, 0.5, "", "x", [], {}, True, "0" * 5000, "1e5", "\x1b[2J", 7)
        holder[key] = random.choice((*others, random.choice(holders)[1]))
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def store(random: Random, whole: bytes, path: Path) -> None:
    """Write a store of SQLite whose pages or rows were changed, and maybe its checksums too."""
    if random.random() < 0.4:
        path.write_bytes(of_bytes(random, whole))
        return
    path.write_bytes(whole)
    with closing(sqlite3.connect(path)) as connection:
        for _ in range(random.choice((1, 1, 3))):
            try:
                with connection:
                    _edit_rows(random, connection)
            except sqlite3.Error:
                continue  # the database refuses it itself
    if random.random() < 0.5:
        with suppress(Exception):  # what was changed cannot always be sealed again
            reseal(path)


def _edit_rows(random: Random, connection: sqlite3.Connection) -> None:
    names = "SELECT name FROM sqlite_master WHERE type = 'table'"
    table = random.choice([name for (name,) in connection.execute(names)])
    cursor = connection.execute(f"SELECT rowid, * FROM {table}")  # noqa: S608  # a name of the store
    columns, rows = [each[0] for each in cursor.description][1:], cursor.fetchall()
    if not rows:
        return
    rowid, *values = random.choice(rows)
    place = random.randrange(len(columns))
    others = (None, 0, -1, 2**62, "", "{}", "[]", "x", b"\xff", 0.5, "9" * 400, "\x1b[2J")
    match random.randrange(5):
        case 0:
            connection.execute(f"DELETE FROM {table} WHERE rowid = ?", (rowid,))  # noqa: S608  # as above
        case 1:
            other = random.choice(rows)[1 + place]
            connection.execute(
                f"UPDATE {table} SET {columns[place]} = ? WHERE rowid = ?",  # noqa: S608  # as above
                (other, rowid),
            )
        case 2:
            connection.execute(f"DROP TABLE {table}")
        case 3 if isinstance(values[place], str):
            changed = of_bytes(random, values[place].encode()).decode("utf-8", "replace")
            connection.execute(
                f"UPDATE {table} SET {columns[place]} = ? WHERE rowid = ?",  # noqa: S608  # as above
                (changed, rowid),
            )
        case _:
            connection.execute(
                f"UPDATE {table} SET {columns[place]} = ? WHERE rowid = ?",  # noqa: S608  # as above
                (random.choice(others), rowid),
            )
