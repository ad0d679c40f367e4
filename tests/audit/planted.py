"""Evidence with something planted: a row of a step changed, and every root above it made anew."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tallystick.canonical import canonical_bytes
from tallystick_state.step_roots import STEPS, LeafRow, row_key, step_tree
from tallystick_state.trust.checkpoint import Checkpoint
from tallystick_state.trust.keys import Signer
from tallystick_state.trust.merkle import TileTree, leaf_hash

Change = Callable[[list[LeafRow]], object]


def planted(  # noqa: PLR0913, PLR0917  # what is planted, and where
    source: Path,
    target: Path,
    epoch: int,
    step: str,
    change: Change,
    signer: Signer | None = None,
) -> Path:
    """A copy of evidence with the rows of one step changed, as an engine that errs would have it.

    Later steps and epochs stay as they are; a signer signs the checkpoint of that.
    """
    body, leaves = target.with_suffix(".body"), list[bytes]()
    with source.open("rb") as file, body.open("wb") as out:
        header = json.loads(file.readline())
        for number in range(header["epochs"]):
            said = json.loads(file.readline())
            steps = {}
            for name in STEPS if said["rows"] else ():
                if said["leaf"]["steps"][name] is not None:
                    size = json.loads(file.readline())["rows"]
                    steps[name] = [file.readline()[:-1] for _ in range(size)]
            if number == epoch:
                rows = [json.loads(row) for row in steps[step]]
                change(rows)
                steps[step] = [canonical_bytes(row) for row in sorted(rows, key=row_key)]
                made = step_tree(steps[step])
                said["leaf"]["steps"][step] = {"root": made.root().hex(), "size": made.size}
            leaves.append(canonical_bytes(said["leaf"]))
            out.write(_line(said))
            for name, found in steps.items():
                out.write(_line({"rows": len(found), "step": name}))
                out.writelines(row + b"\n" for row in found)
    header.pop("checkpoint", None)
    if signer is not None:
        root = TileTree(map(leaf_hash, leaves)).root()
        header["checkpoint"] = Checkpoint("log/b", len(leaves), root).signed(signer).to_text()
    with target.open("wb") as out, body.open("rb") as file:
        out.write(_line(header))
        shutil.copyfileobj(file, out)
    body.unlink()
    return target


def at(place: int, change: Callable[[Any], Any]) -> Change:
    """The value of the row at a place changed."""

    def changed(rows: list[LeafRow]) -> None:
        *key, value = rows[place]
        rows[place] = [*key, change(value)]

    return changed


def nano_more(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """One nano more of a decimal of nine places, or of a fraction."""

    def changed(value: dict[str, Any]) -> dict[str, Any]:
        whole, _, part = value[name].partition(".")
        if not part:
            top, _, below = whole.partition("/")
            return {
                **value,
                name: f"{int(top) * 10**9 + int(below or 1)}/{int(below or 1) * 10**9}",
            }
        more = int(whole + part) + 1
        return {**value, name: f"{more // 10**9}.{more % 10**9:09}"}

    return changed


def other_digit(digest: str) -> str:
    """A digest with another last digit."""
    return digest[:-1] + ("0" if digest[-1] != "0" else "1")


def _line(value: object) -> bytes:
    return canonical_bytes(value) + b"\n"
