"""Settings that somebody else can write are ignored, and those that count are named."""

import json
import os
from pathlib import Path

import pytest
from cli.command import SKILLS, message_of, run
from cli.others import WAYS, Way, link_to_another, open_folder
from cli.stores import Subnet

DIGEST = ("state", "digest")


@pytest.fixture
def inner(subnet: Subnet, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, below one in which somebody may put settings."""
    folder = subnet.folder / "parent" / "inner"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(subnet.folder / "config"))
    return folder


@pytest.mark.parametrize(("way", "place"), [*((way, "above") for way in WAYS), (open_folder, "in")])
def test_settings_that_another_can_write_are_ignored_with_a_warning(
    inner: Path, way: Way, place: str
) -> None:
    folder = inner if place == "in" else inner.parent
    (folder / "tallystick.toml").write_text('state = "absent.db"\nrules = "absent@1.0.0"\nsate = 1')
    reason = way(folder)
    scored = run("score", SKILLS, "--rules", "skills@1.0.0", "-o", inner.parent / "out.jsonl")
    assert scored.status == 0
    (line,) = scored.err.splitlines()
    assert line.startswith(f"warning: {folder / 'tallystick.toml'}: ignored, {reason}: give both")
    missing = run(*DIGEST)
    assert missing.status == 2
    assert missing.err.splitlines()[-1] == line
    assert "Missing option '--state'" in missing.err


def test_a_file_above_that_counts_is_found_past_one_that_does_not(
    subnet: Subnet, inner: Path
) -> None:
    (subnet.folder / "tallystick.toml").write_text('state = "state.db"\n')
    (inner.parent / "tallystick.toml").write_text('state = "absent.db"\n')
    open_folder(inner.parent)
    found = run(*DIGEST, "--json")
    assert found.json()["settings"] == "../../tallystick.toml"
    assert found.err.startswith(f"warning: {inner.parent / 'tallystick.toml'}: ignored, as ")


def test_the_log_has_the_warning_also_where_settings_began_it(subnet: Subnet, inner: Path) -> None:
    (subnet.folder / "tallystick.toml").write_text('state = "state.db"\nlog_json = true\n')
    (inner / "tallystick.toml").write_text("")
    open_folder(inner)
    events = [json.loads(line) for line in run(*DIGEST).err.splitlines()]
    # what came before the log began comes first in it
    assert [each["level"] for each in events][:2] == ["warning", "info"]
    assert events[0]["event"].startswith(f"{inner / 'tallystick.toml'}: ignored, as everyone")
    assert [each["event"] for each in events][1:3] == ["started", "read the settings"]
    assert events[2]["settings"] == "../../tallystick.toml"


@pytest.mark.parametrize("way", [open_folder, link_to_another])
def test_a_folder_that_the_user_trusts_counts(
    subnet: Subnet, inner: Path, way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = inner.parent / "tallystick.toml"
    path.write_text(f'state = "{subnet.where}"\n')
    way(inner.parent)
    trusted = os.pathsep.join([str(inner), str(path.resolve().parent), str(inner.parent)])
    monkeypatch.setenv("TALLYSTICK_TRUSTED_FOLDERS", trusted)
    assert (run(*DIGEST).status, run(*DIGEST).err) == (0, "")
    # the folder itself, not those above or below it
    monkeypatch.setenv("TALLYSTICK_TRUSTED_FOLDERS", os.pathsep.join([str(subnet.folder), "/"]))
    assert "ignored" in run(*DIGEST).err
    monkeypatch.delenv("TALLYSTICK_TRUSTED_FOLDERS")
    config = subnet.folder / "config" / "tallystick"
    config.mkdir(parents=True)
    lines = ["# shared by all of us", "", *trusted.split(os.pathsep)]
    (config / "trusted-folders").write_text("\n".join(lines))
    assert run(*DIGEST).status == 0
    open_folder(config)
    found = run(*DIGEST)
    assert found.status == 2
    assert f"{config / 'trusted-folders'}: ignored, as everyone can write" in found.err


def test_who_has_no_home_is_told_like_others(inner: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (inner / "tallystick.toml").write_text("")
    open_folder(inner)
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert "ignored, as everyone can write" in run(*DIGEST).err


def test_a_trusted_folder_is_absolute(inner: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (inner / "tallystick.toml").write_text("")
    open_folder(inner)
    monkeypatch.setenv("TALLYSTICK_TRUSTED_FOLDERS", "inner")
    assert message_of(run(*DIGEST, "--state", "x.db")).startswith(
        "TALLYSTICK_TRUSTED_FOLDERS: found the folder inner, expected an absolute path"
    )


@pytest.mark.usefixtures("inner")
def test_a_cluster_in_a_file_is_ignored_and_told_where_it_belongs(
    subnet: Subnet, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = ("cluster", "cluster_ca", "cluster_cert", "cluster_key")
    file = subnet.folder / "tallystick.toml"
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
    (subnet.folder / "tallystick.toml").write_text('state = "state.db"\n')
    name = "../../tallystick.toml"
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


@pytest.mark.parametrize("arguments", [("--no-settings", *DIGEST), (*DIGEST, "--no-settings")])
def test_without_settings_no_file_is_read(
    subnet: Subnet, inner: Path, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    (inner / "tallystick.toml").write_text("no TOML\n")
    assert message_of(run(*DIGEST)).startswith(f"{inner / 'tallystick.toml'}: the settings cannot")
    assert run(*arguments, "--state", subnet.where).status == 0
    monkeypatch.setenv("TALLYSTICK_NO_SETTINGS", "1")
    assert run(*DIGEST, "--state", subnet.where).status == 0
