"""Settings that somebody else can write are ignored, and those that count are named."""

import json
from pathlib import Path

import pytest
from cli.command import SKILLS, message_of, run
from cli.others import WAYS, Way, open_folder
from cli.stores import Subnet

INFO = ("state", "info")


@pytest.mark.parametrize("way", WAYS)
def test_settings_that_another_can_write_are_ignored_with_a_warning(inner: Path, way: Way) -> None:
    folder = inner
    (folder / "tallystick.toml").write_text('state = "absent.db"\nrules = "absent@1.0.0"\nsate = 1')
    reason = way(folder)
    scored = run("score", SKILLS, "--rules", "skills@1.0.0", "-o", inner.parent / "out.jsonl")
    assert scored.status == 0
    (line,) = scored.err.splitlines()
    assert line.startswith(f"warning: {folder / 'tallystick.toml'}: ignored, {reason}: give both")
    missing = run(*INFO)
    assert missing.status == 2
    assert missing.err.splitlines()[-1] == line
    assert "Missing option '--state'" in missing.err


def test_a_file_that_is_named_counts_whoever_can_write_it(subnet: Subnet, inner: Path) -> None:
    (inner / "tallystick.toml").write_text(f'state = "{subnet.where}"\n')
    open_folder(inner)
    found = run(*INFO, "--json", "--settings", "tallystick.toml")
    assert (found.status, found.err) == (0, "")
    assert found.json()["settings"] == "tallystick.toml"


def test_the_log_has_the_warning(subnet: Subnet, inner: Path) -> None:
    (inner / "tallystick.toml").write_text("")
    open_folder(inner)
    found = run(*INFO, "--state", subnet.where, "--log-json")
    events = [json.loads(line) for line in found.err.splitlines()]
    assert [each["level"] for each in events if "ignored" in each["event"]] == ["warning"]


@pytest.mark.usefixtures("inner")
def test_a_cluster_in_a_file_is_ignored_and_told_where_it_belongs(
    subnet: Subnet, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = ("cluster", "cluster_ca", "cluster_cert", "cluster_key")
    file = subnet.folder / "tallystick.toml"
    monkeypatch.setenv("TALLYSTICK_SETTINGS", str(file))
    file.write_text("\n".join(f'{key} = "nowhere"' for key in keys) + "\nworkers = 1\n")
    score = ("score", SKILLS, "--rules", "skills@1.0.0", "-o", subnet.folder / "results.jsonl")
    found = run(*score)
    assert found.status == 0
    assert found.err == (
        f"warning: {file}: cluster, cluster_ca, cluster_cert, cluster_key are ignored in a file, "
        "as a cluster runs code in your name: give --cluster, --cluster-ca, --cluster-cert, "
        "--cluster-key, or TALLYSTICK_CLUSTER, TALLYSTICK_CLUSTER_CA, TALLYSTICK_CLUSTER_CERT, "
        "TALLYSTICK_CLUSTER_KEY in the environment\n"
    )
    file.write_text("cluster = 5\n")
    assert "cluster is ignored in a file" in run(*score).err
    monkeypatch.setenv("TALLYSTICK_CLUSTER", "nowhere")
    assert "nowhere: the cluster cannot be reached" in message_of_last(run(*score).err)


def message_of_last(text: str) -> str:
    return next(line for line in text.splitlines() if line.startswith("error: "))


def test_the_settings_that_counted_are_named(subnet: Subnet, inner: Path) -> None:
    name = "tallystick.toml"
    (inner / name).write_text('state = "../state.db"\n')
    for command in (("score", SKILLS, "--rules", "skills@1.0.0"), ("facts", SKILLS)):
        told = run(*command, "-o", "out.parquet", "--json").json()
        assert told["settings"] == name
        receipt = json.loads((inner / "out.parquet.receipt.json").read_text())
        assert receipt == told
        plain = run(*command, "-o", "out.parquet", "--json", "--no-settings").json()
        assert plain == {key: value for key, value in told.items() if key != "settings"}
        assert json.loads((inner / "out.parquet.receipt.json").read_text()) == plain
    assert run("state", "info", "--json").json()["settings"] == name
    error = run("state", "info", "--state", "absent.db", "--json").json()
    assert error["settings"] == name
    assert (
        f"info: read the settings  settings={name}" in run("state", "info", "-v").err.splitlines()
    )
    quiet = run("state", "info", "--state", subnet.where, "--json", "-v", "--no-settings")
    assert "settings" not in quiet.json()
    assert "read the settings" not in quiet.err


@pytest.mark.parametrize("arguments", [("--no-settings", *INFO), (*INFO, "--no-settings")])
def test_without_settings_no_file_is_read(
    subnet: Subnet, inner: Path, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    (inner / "tallystick.toml").write_text("no TOML\n")
    assert message_of(run(*INFO)).startswith(f"{inner / 'tallystick.toml'}: the settings cannot")
    assert run(*arguments, "--state", subnet.where).status == 0
    monkeypatch.setenv("TALLYSTICK_NO_SETTINGS", "1")
    assert run(*INFO, "--state", subnet.where).status == 0
