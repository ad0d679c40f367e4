"""``tallystick audit folder``: what the equality of derived and set weights shows, and what not."""

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import attrs
import pytest
from audit.acme_export import FORMAT, read
from cli.command import Finished, message_of, run
from installed import beside, install

import tallystick
from tallystick.errors import InputError
from tallystick_state.audit.export import Export, audit_export

RULES = "reward@1.0.0"
UIDS = {"5A": 0, "5B": 1, "5C": 2}
REWARDS = (("5A", 0.9), ("5A", 0.7), ("5B", 0.5), ("5C", 0.25), ("5C", 2), ("5Gone", 1))
"""Rewards by hotkey: one above 1, which the rules refuse, and one of a hotkey without a uid."""
OFFERED = {
    FORMAT.name: "audit.acme_export:FORMAT",
    "acme/day": "audit.acme_export:FORMAT",
    "acme/kind": "audit.acme_export:read",
}
"""Formats by entry points: one that is used, one of another name, and what is no format."""


@pytest.fixture
def hour(tmp_path: Path) -> Iterator[Path]:
    """An export whose weights are those that follow from it; its format is installed."""
    site, folder = tmp_path / "site", tmp_path / "hour"
    install(
        site,
        "acme",
        plugins={"acme": "audit.acme_export"},
        exports=OFFERED,
        lints={"acme": "acme_lints:LINTS"},
    )
    folder.mkdir()
    rows = [
        {"task": f"t{number}", "hotkey": hotkey, "reward": reward, "judge": "a person"}
        for number, (hotkey, reward) in enumerate(REWARDS)
    ]
    data = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    (folder / "rewards.jsonl").write_bytes(data)
    (folder / "index.json").write_text(json.dumps({"sha256": hashlib.sha256(data).hexdigest()}))
    (folder / "uids.json").write_text(json.dumps(UIDS))
    publish(folder, {"5A": "1"})
    with beside(site):
        publish(folder, audit(folder, "--json").json()["weights"])
        yield folder


def audit(folder: Path, *options: str, name: str = FORMAT.name) -> Finished:
    return run("audit", "folder", folder, "--rules", RULES, "--format", name, *options)


def publish(folder: Path, weights: dict[str, str]) -> None:
    (folder / "weights.json").write_text(json.dumps(weights))


def published(folder: Path) -> dict[str, Decimal]:
    return dict(read(folder).published)


def test_weights_that_follow_from_the_files_are_equal(hour: Path) -> None:
    found = audit(hour, "--json")
    said = found.json()
    assert (found.status, said["verdict"], said["largest"], said["equal"]) == (0, "equal", "0", 3)
    assert (said["scored"], said["left_out"]) == (4, {"at-most-one": 1})
    assert said["dropped"] == {"rewards of hotkeys without a uid": 1}
    (digest,) = said["digests"]
    assert digest["stated"] == digest["found"]
    shows, open_questions = audit(hour).out.split("this does not show")
    assert "these files are the ones that index.json states" in shows
    assert "whoever has these files derives these weights" in shows
    assert "are the derived ones, to nine places" in shows
    assert FORMAT.unproved[0] in open_questions


def test_the_weights_are_those_of_the_records_by_the_rules(hour: Path) -> None:
    results = tallystick.load(RULES).score_many(read(hour).records)
    rows = [each.to_dict() for each in results if isinstance(each, tallystick.Result)]
    weights = tallystick.allocate(RULES, rows).weights
    assert {hotkey: int(weight * 10**9) for hotkey, weight in published(hour).items()} == weights


def test_weights_in_another_unit_are_compared_as_shares(hour: Path) -> None:
    publish(hour, {hotkey: str(2 * weight) for hotkey, weight in published(hour).items()})
    assert Decimal(audit(hour, "--json").json()["largest"]) < Decimal("0.000000002")


def test_the_distance_to_what_was_set_is_told_and_a_tolerance_lets_it_pass(hour: Path) -> None:
    moved, centi = published(hour), Decimal("0.01")
    publish(
        hour,
        {
            h: str(w)
            for h, w in (moved | {"5A": moved["5A"] + centi, "5B": moved["5B"] - centi}).items()
        },
    )
    found = audit(hour, "--json")
    said = found.json()
    assert (found.status, said["verdict"]) == (1, "differs")
    assert Decimal(said["largest"]) == pytest.approx(centi, abs=Decimal("0.00000001"))
    assert said["first"]["hotkey"] in {"5A", "5B"}
    assert not any("that were set" in sentence for sentence in said["proved"])
    passed = audit(hour, "--tolerance", "0.03")
    assert passed.status == 0
    assert "within-tolerance" in passed.out
    assert "within the tolerance of the derived ones" in passed.out


def test_a_changed_file_is_told_whatever_the_weights_are(hour: Path) -> None:
    with (hour / "rewards.jsonl").open("a") as file:
        file.write('{"task": "t9", "hotkey": "5Gone", "reward": 1}\n')
    found = audit(hour, "--json")
    assert (found.status, found.json()["verdict"]) == (1, "differs")
    assert "rewards.jsonl is not the file that index.json states" in found.json()["proved"][0]


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("index.json", "{}", "KeyError: 'sha256'"),
        ("uids.json", "[", "JSONDecodeError"),
        ("weights.json", '{"5A": "nan"}', "the weight NaN of 5A"),
        ("weights.json", '{"5A": "-1"}', "the weight -1 of 5A"),
        ("weights.json", '{"5A": "1e999999"}', "the weight 1E+999999 of"),
    ],
)
def test_files_that_are_no_export_are_refused(
    hour: Path, file: str, text: str, message: str
) -> None:
    (hour / file).write_text(text)
    found = audit(hour)
    assert found.status == 2
    assert f"found no export of {FORMAT.name}" in message_of(found)
    assert message in message_of(found)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda _: None, "'NoneType' object has no attribute 'records'"),
        (lambda _: sys.exit(3), "SystemExit: 3"),
        (lambda hour: attrs.evolve(read(hour), digests=5), "found 5 for digests of Export"),
        (lambda hour: attrs.evolve(read(hour), published={5: Decimal(1)}), "the weight 1 of 5"),
    ],
)
def test_a_format_that_reads_something_else_is_named(
    hour: Path, answer: Callable[[Path], Export], message: str
) -> None:
    with pytest.raises(InputError, match=rf"found no export of acme/hour \(.*{message}"):
        audit_export(tallystick.load(RULES), attrs.evolve(FORMAT, read=answer), hour)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("acme/weekly", "no installed plugin offers it, expected one of acme/day, acme/hour"),
        ("weekly", "no installed plugin offers it: tallystick plugins list shows formats"),
        ("acme/day", "it is refused: found the name 'acme/hour'"),
        ("acme/kind", "expected a ExportFormat"),
    ],
)
def test_a_format_that_cannot_be_used_is_told_by_its_name(hour: Path, name: str, why: str) -> None:
    told = message_of(audit(hour, name=name))
    assert f"found the format {name!r}, but " in told
    assert why in told


@pytest.mark.usefixtures("hour")
def test_plugins_list_shows_what_a_distribution_offers_beside_its_plugin() -> None:
    rows = {each["name"]: each for each in run("plugins", "list", "--json").json()["plugins"]}
    assert (rows["acme"]["exports"], rows["acme"]["lints"]) == ([*sorted(OFFERED)], ["acme"])
    assert f"exports: {', '.join(sorted(OFFERED))}" in run("plugins", "list").out
