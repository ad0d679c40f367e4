"""Commands on a state that are refused: exit status, message, and nothing has changed."""

import sqlite3
from contextlib import closing

import pytest
from cli.command import message_of
from cli.stores import Subnet
from state.subnet import event, record

WHOLE = [("round", "close", "--bad", "refuse"), ("events", "import")]
"""Commands that record all lines or none."""


@pytest.mark.parametrize("command", WHOLE)
def test_bad_lines_end_with_status_1_and_change_nothing(
    subnet: Subnet, command: tuple[str, ...]
) -> None:
    path = subnet.lines(record("t3"), record("t4", "nobody"), record("t1", "nobody"))
    before = subnet.look()
    found = subnet.do(*command, path)
    assert (found.status, found.out) == (1, "")
    first, *lines = found.err.splitlines()
    assert first == f"error: {path}: found 2 bad lines, expected none: nothing was recorded"
    (line,) = lines
    assert line.startswith(f"{path}:2: unknown-miner: ")
    assert line.endswith("; the same in 1 more line: 3")
    shown = subnet.do(*command, path, "--json")
    assert [(each["line"], each["code"]) for each in shown.json()["refusals"]] == [
        (2, "unknown-miner"),
        (3, "unknown-miner"),
    ]
    assert subnet.look() == before


def test_a_bad_record_does_not_stop_the_good_ones_of_a_round(subnet: Subnet) -> None:
    path = subnet.lines(record("t3"), record("t4", "nobody"), record("t5", "hk-2"))
    found = subnet.do("round", "close", path)
    assert found.status == 1
    assert found.out.startswith(f"{path}: 2 recorded, 0 known already, 1 refused (unknown-miner)\n")
    assert found.err.startswith(f"error: {path}:2: unknown-miner: ")
    again = subnet.do(
        "round", "close", subnet.lines(record("t3"), record("t4"), record("t5", "hk-2"))
    )
    assert (again.status, again.out.splitlines()[0]) == (0, f"{path}: 1 recorded, 2 known already")


@pytest.mark.parametrize("command", WHOLE)
def test_a_file_that_was_cut_changes_nothing(subnet: Subnet, command: tuple[str, ...]) -> None:
    path = subnet.lines(record("t3"), event("e1", "rerun_fail", "t3"))
    whole, before = path.read_bytes(), subnet.look()
    for size in (1, len(whole) // 2, len(whole) - 3):
        path.write_bytes(whole[:size])
        found = subnet.do(*command, path)
        assert found.status == 1
        assert f"{path}:{whole[:size].count(10) + 1}: invalid-json: " in found.err
    path.write_bytes(b"")
    assert message_of(subnet.do(*command, path)).startswith(f"{path}: the file is empty")
    assert subnet.look() == before


OTHER_VERSIONS = {
    "9999": "UPDATE tallystick_format SET version = 9999",
    "the format []": "ALTER TABLE tallystick_format RENAME TO tallystick_version",
}


@pytest.mark.parametrize("version", OTHER_VERSIONS)
def test_a_store_of_another_version_is_left_alone(subnet: Subnet, version: str) -> None:
    with closing(sqlite3.connect(subnet.where)) as connection, connection:
        connection.execute(OTHER_VERSIONS[version])
    before = subnet.where.read_bytes()
    for command in (("state", "info"), ("epoch", "close", "--epoch", "0"), ("state", "verify")):
        said = message_of(subnet.do(*command))
        assert str(subnet.where) in said
        assert version in said
    assert subnet.where.read_bytes() == before
