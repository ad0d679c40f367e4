"""`tallystick records generate`."""

import hashlib
import json
from pathlib import Path

from cli.command import run

SMALL = ("--miners", "12", "--epochs", "2", "--rounds", "3", "--seed", "7")


def generate(output: Path, *options: str) -> bytes:
    found = run("records", "generate", *SMALL, "-o", output, *options)
    assert found.status == 0, found
    return output.read_bytes()


def test_the_same_options_write_the_same_bytes_and_nothing_else(tmp_path: Path) -> None:
    first = generate(tmp_path / "a.jsonl", "--count", "2500")
    assert first.count(b"\n") == 2500
    found = run("records", "generate", *SMALL, "--count", "2500", "-o", "-")
    assert (found.status, found.err) == (0, "")
    assert found.out.encode() == first
    assert first != generate(tmp_path / "c.jsonl", "--count", "2500", "--seed", "8")
    assert {json.loads(line)["epoch"] for line in first.splitlines()} == {0, 1}


def test_only_the_types_that_were_asked_for(tmp_path: Path) -> None:
    made = generate(tmp_path / "a.jsonl", "--count", "200", "--types", " workflow,mcp_server, ")
    assert {json.loads(line)["skill_type"] for line in made.splitlines()} == {
        "workflow",
        "mcp_server",
    }


def test_what_was_written_is_told(tmp_path: Path) -> None:
    output = tmp_path / "a.jsonl"
    plain = run("records", "generate", *SMALL, "--count", "1", "-o", output)
    digest = "sha256:" + hashlib.sha256(output.read_bytes()).hexdigest()
    size = output.stat().st_size
    assert plain.out == f"1 record, {size} bytes\nrecords  {output} {digest}\n"
    found = run("records", "generate", *SMALL, "--count", "1", "-o", output, "--json").json()
    assert found == {"records": 1, "bytes": size, "file": str(output), "digest": digest}
