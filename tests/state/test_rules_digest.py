"""The digest of the rules in force and scheduled, beside that of a state."""

from pathlib import Path

import pytest
from cli.command import run

from tallystick.canonical import digest
from tallystick.plugins.registry import installed
from tallystick.rules.loading import load
from tallystick_state.ledger import Ledger

BEGUN, NEW, NEWEST = "skills@1.0.0", "skills@1.1.0", "skills@1.2.0"


def digests(ledger: Ledger) -> tuple[str, str]:
    with ledger.queries() as queries:
        return queries.digest(), queries.rules_digest()


def test_it_is_what_the_page_says(tmp_path: Path) -> None:
    known = {each: load(each, installed()).digest for each in (BEGUN, NEW, NEWEST)}
    with Ledger.create(tmp_path / "a.db", BEGUN) as ledger:
        ledger.adopt(NEW, 1)
        ledger.adopt(NEWEST, 4)
        for in_force, scheduled in (
            (BEGUN, [(1, NEW), (4, NEWEST)]),
            (NEW, [(4, NEWEST)]),
        ):
            ahead = [{"epoch": epoch, "digest": known[name]} for epoch, name in scheduled]
            lines = {"skills": {"in_force": known[in_force], "scheduled": ahead}}
            assert digests(ledger)[1] == digest({"format": 1, "lines": lines})
            ledger.close_epoch()


def test_pools_are_part_of_it(tmp_path: Path) -> None:
    lines = [NEW, "workflow@1.1.0"]
    found = []
    for name, share in (("a", "0.5"), ("b", "0.25")):
        pools = {"skills": share, "workflow": str(1 - float(share))}
        with Ledger.create(tmp_path / f"{name}.db", lines, pools=pools) as ledger:
            found.append(digests(ledger)[1])
            ledger.share({"skills": "0.625", "workflow": "0.375"}, 4)
            assert digests(ledger)[1] not in found
            found.append(digests(ledger)[1])
    with Ledger.create(tmp_path / "c.db", lines) as ledger:
        found.append(digests(ledger)[1])
    assert len({*found}) == 5


def test_the_commands_print_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Ledger.create("a.db", BEGUN) as ledger:
        ledger.adopt(NEW, 2)
        _, rules = digests(ledger)
    on = ("--state", "a.db")
    assert f"rules digest   {rules}" in run("state", "info", *on).out
    assert run("state", "checkpoint", *on, "--json").json()["rules_digest"] == rules
    told = run("state", "checkpoint", "-o", "checkpoint.txt", *on).out
    assert told.endswith(f"\nrules {rules}\n")
    # what is printed without a file is the checkpoint, which knows no other line
    plain = run("state", "checkpoint", *on).out
    assert plain == Path("checkpoint.txt").read_text()
    assert run("state", "verify", "--checkpoint", "checkpoint.txt", *on).status == 0
