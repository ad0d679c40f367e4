"""Formats of exports by entry points: each is read by its name, and told by it where it cannot."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.command import message_of, run
from installed import install

from tallystick.plugins.entries import ALLOWED
from tallystick.plugins.registry import installed_plugins

FORMAT = """
from decimal import Decimal

from tallystick_state.audit.export import Export, ExportFormat

tallystick_api = 1


def read(folder):
    rows = [line.split() for line in (folder / "weights.txt").read_text().splitlines()]
    return Export(
        records=[],
        round={"format": 1, "round": {}, "miners": {}},
        published={hotkey: Decimal(weight) for hotkey, weight in rows},
    )


DAILY = ExportFormat("acme/daily", "A day of Acme", read)
HOURLY = ExportFormat("acme/hourly", "An hour of Acme", read)
"""
RULES = "skills@1.0.0"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder where distributions are installed."""
    folder = tmp_path / "site"
    folder.mkdir()
    before = set(sys.modules)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delenv(ALLOWED, raising=False)
    installed_plugins.cache_clear()
    yield folder
    installed_plugins.cache_clear()
    for name in set(sys.modules) - before:
        if name.startswith("acme"):
            del sys.modules[name]


def offer(site: Path, text: str = FORMAT) -> None:
    (site / "acme_export.py").write_text(text)
    (site / "acme_plugin.py").write_text("tallystick_api = 1\n")
    install(
        site,
        "acme",
        plugins={"acme": "acme_plugin"},
        exports={"acme/daily": "acme_export:DAILY", "acme/hourly": "acme_export:HOURLY"},
        lints={"acme": "acme_lints:LINTS"},
    )


def refusal(folder: Path, name: str) -> str:
    return message_of(run("audit", "folder", folder, "--rules", RULES, "--format", name))


def test_a_format_reads_a_folder_of_its_subnet(site: Path, tmp_path: Path) -> None:
    offer(site)
    folder = tmp_path / "day"
    folder.mkdir()
    # what the format raises is a fault of the files: it was reached
    assert "found no export of acme/daily (FileNotFoundError" in refusal(folder, "acme/daily")


def test_an_unknown_format_is_told_with_those_of_its_plugin(site: Path, tmp_path: Path) -> None:
    offer(site)
    said = refusal(tmp_path, "acme/weekly")
    assert "no installed plugin offers it, expected one of acme/daily, acme/hourly" in said
    assert "tallystick plugins list shows formats" in refusal(tmp_path, "weekly")


BROKEN = {
    "kind": (FORMAT.replace("DAILY = ", "DAILY = 1, "), "expected a ExportFormat"),
    "name": (FORMAT.replace('"acme/daily"', '"acme/day"'), "found the name 'acme/day'"),
}


@pytest.mark.parametrize(("text", "why"), BROKEN.values(), ids=BROKEN)
def test_a_format_that_cannot_be_used_is_told_by_name(
    site: Path, tmp_path: Path, text: str, why: str
) -> None:
    offer(site, text)
    said = refusal(tmp_path, "acme/daily")
    assert "found the format 'acme/daily', but it is refused" in said
    assert why in said
    # what else is installed goes on
    assert run("rules", "check", RULES).status == 0
    assert "exports: acme/daily, acme/hourly" in run("plugins", "list").out


def test_of_two_distributions_with_one_format_none_is_used(site: Path, tmp_path: Path) -> None:
    offer(site)
    install(site, "other", exports={"acme/daily": "acme_export:DAILY"})
    assert "both offer a plugin of this name, and none is used" in refusal(tmp_path, "acme/daily")
    (tmp_path / "weights.txt").write_text("")
    assert "acme/hourly" in refusal(tmp_path, "acme/hourlie")


def test_only_a_distribution_whose_plugin_is_allowed_is_asked(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer(site)
    monkeypatch.setenv(ALLOWED, "skills")
    assert f"{ALLOWED} does not name it" in refusal(tmp_path, "acme/daily")
    monkeypatch.setenv(ALLOWED, "skills,acme")
    assert "found no export of acme/daily" in refusal(tmp_path, "acme/daily")


def test_plugins_list_shows_what_a_distribution_offers_beside_its_plugin(site: Path) -> None:
    offer(site)
    (row,) = (
        each
        for each in run("plugins", "list", "--json").json()["plugins"]
        if each["name"] == "acme"
    )
    assert row["exports"] == ["acme/daily", "acme/hourly"]
    assert row["lints"] == ["acme"]
    assert "    lints: acme" in run("plugins", "list").out
