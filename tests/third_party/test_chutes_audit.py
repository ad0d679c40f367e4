"""``tallystick audit`` of a made-up hour of Chutes: what equality shows, and what it does not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from cli.command import Finished, message_of, run
from installed import install
from third_party.real_projects import module, project, rules

import tallystick
from tallystick.plugins.entries import ALLOWED
from tallystick.plugins.registry import installed_plugins

RULES, FORMAT = "chutes@1.0.0", "chutes/hour"
NANO = 10**9


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The plugin is found as an installed one is."""
    install(
        tmp_path / "site",
        "tallystick-chutes",
        plugins={"chutes": "tallystick_chutes.plugin"},
        exports={FORMAT: "tallystick_chutes.export:FORMAT"},
    )
    monkeypatch.syspath_prepend(project("chutes"))
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delenv(ALLOWED, raising=False)
    installed_plugins.cache_clear()
    yield
    installed_plugins.cache_clear()


@pytest.fixture
def hour(tmp_path: Path) -> Path:
    """An export of one hour, whose metagraph says nothing yet."""
    folder = tmp_path / "hour"
    folder.mkdir()
    module("chutes", "made_up").write(folder, 1)
    return folder


def audit(folder: Path, *options: str) -> Finished:
    return run("audit", "folder", folder, "--rules", RULES, "--format", FORMAT, *options)


def publish(folder: Path, incentives: dict[str, str]) -> None:
    """Write what was set, by hotkey, into the metagraph."""
    nodes = list(
        module("chutes", "export")._rows(folder / "metagraph.csv", ("hotkey", "coldkey", "uid"))
    )
    module("chutes", "made_up").publish(
        folder, [each | {"incentive": incentives.get(each["hotkey"], "0")} for each in nodes]
    )


def derived(folder: Path) -> dict[str, str]:
    found: dict[str, str] = audit(folder, "--json").json()["weights"]
    return found


def test_weights_that_follow_from_the_files_are_equal(hour: Path) -> None:
    publish(hour, derived(hour))
    found = audit(hour, "--json")
    said = found.json()
    assert (found.status, said["verdict"], said["largest"]) == (0, "equal", "0")
    assert said["equal"] == len(json.loads(json.dumps(said["weights"]))) + _without_weight(said)
    assert {each["stated"] == each["found"] for each in said["digests"]} == {True}
    assert len(said["digests"]) == 4
    assert said["left_out"] == {"not-reported": 1}
    assert said["dropped"].keys() == {
        "calls of hotkeys off the metagraph",
        "calls of no slot",
        "repeated calls",
        "repeated instances",
    }
    text = audit(hour).out
    shows, open_questions = text.split("this does not show")
    assert "these files are the ones that the chain, report.json states" in shows
    assert "whoever has these files derives these weights" in shows
    assert "are the derived ones, to nine places" in shows
    assert len(open_questions.strip().splitlines()) == 5
    assert "at which instant" in open_questions


def _without_weight(said: Any) -> int:  # noqa: ANN401  # JSON
    """How many of the five miners of the metagraph have no weight."""
    return 5 - len(said["weights"])


def test_the_weights_are_those_of_the_records_by_the_rules(hour: Path) -> None:
    export = module("chutes", "export").read(hour)
    found = rules("chutes").score_many(export.records)
    rows = [each.to_dict() for each in found if isinstance(each, tallystick.Result)]
    assert len(rows) == len(export.records) - 1
    done = tallystick.allocate(rules("chutes"), rows, round=export.round)
    assert {h: round(Decimal(w) * NANO) for h, w in derived(hour).items()} == done.weights
    assert sum(done.weights.values()) == pytest.approx(NANO, abs=3)
    assert 1 < len(done.weights) < 5  # of one coldkey one hotkey is paid


def test_weights_in_another_unit_are_compared_as_shares(hour: Path) -> None:
    doubled = {hotkey: str(2 * Decimal(weight)) for hotkey, weight in derived(hour).items()}
    publish(hour, doubled)
    found = audit(hour, "--json").json()
    assert Decimal(found["largest"]) < Decimal("0.000000002")


def test_the_distance_to_the_chain_is_told_and_a_tolerance_lets_it_pass(hour: Path) -> None:
    weights = derived(hour)
    first, second, *_ = sorted(weights)
    moved = weights | {
        first: str(Decimal(weights[first]) + Decimal("0.01")),
        second: str(Decimal(weights[second]) - Decimal("0.01")),
    }
    publish(hour, moved)
    found = audit(hour, "--json")
    said = found.json()
    assert (found.status, said["verdict"]) == (1, "differs")
    assert Decimal(said["largest"]) == pytest.approx(Decimal("0.01"), abs=Decimal("0.00000001"))
    assert said["first"]["hotkey"] in (first, second)
    assert not any("that were set" in each for each in said["proved"])
    passed = audit(hour, "--tolerance", "0.03")
    assert passed.status == 0
    assert "within-tolerance" in passed.out
    assert "within the tolerance of the derived ones" in passed.out


def test_a_changed_file_is_told_whatever_the_weights_are(hour: Path) -> None:
    publish(hour, derived(hour))
    (reports,) = hour.glob("invocations/**/11-jobs.csv")
    reports.write_bytes(reports.read_bytes() + b"job,person,chute,5Miner00,,\n")
    found = audit(hour, "--json")
    assert (found.status, found.json()["verdict"]) == (1, "differs")
    assert "11-jobs.csv is not the file that report.json states" in found.json()["proved"][0]


def test_nothing_personal_is_kept(hour: Path) -> None:
    made_up = module("chutes", "made_up")
    everything = b"".join(path.read_bytes() for path in hour.rglob("*") if path.is_file())
    assert everything.count(made_up._PERSONAL.encode()) > 50
    export = module("chutes", "export").read(hour)
    kept = repr([export.records, export.round, export.published, export.digests, export.dropped])
    assert made_up._PERSONAL not in kept
    assert made_up._PERSONAL not in audit(hour, "--json").out


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("entry.json", b'"end_time"', b'"ended"', "KeyError: 'end_time'"),
        (
            "report.json",
            b'"path": "invocations',
            b'"path": "../invocations',
            "one inside the folder",
        ),
        ("report.json", b"{", b"[", "JSONDecodeError"),
        ("metagraph.csv", b"5Miner00,5Cold01,0", b"5Miner00,5Cold01,zero", "ValueError"),
        ("metagraph.csv", b"5Miner01", b"5Miner00", "found 5Miner00 twice"),
        ("metagraph.csv", b"5Cold01,0,0", b"5Cold01,0,nan", "the weight NaN of 5Miner00"),
        ("metagraph.csv", b"5Cold01,0,0", b"5Cold01,0,-1", "the weight -1 of 5Miner00"),
        ("metagraph.csv", b"5Cold01,0,0", b"5Cold01,0,1e999999", "the weight 1E+999999 of"),
    ],
)
def test_files_that_are_no_export_are_refused(
    hour: Path, file: str, old: bytes, new: bytes, said: str
) -> None:
    path = hour / file
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))
    found = audit(hour)
    assert found.status == 2
    assert f"found no export of {FORMAT}" in message_of(found)
    assert said in message_of(found)


def test_metrics_are_read_as_data_and_never_run() -> None:
    metrics = module("chutes", "export")._metrics
    assert metrics("{'nc': 2, 'tps': 3, 'p': None}") == {"nc": 2}
    for text in ("", "None", "[1]", "{'nc': 1 + 1}", "__import__('os').getcwd()", "{'nc':", "\0"):
        assert metrics(text) is None, text
    with pytest.raises(ValueError, match="5000 characters"):
        metrics("(" * 5000)
