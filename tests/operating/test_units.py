"""The files that start a validator: units of systemd, a container, a compose file."""

import configparser
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from cli.command import command_of
from needs import tool
from packages import ROOT

FILES = ROOT / "docs" / "operating"
UNITS = ("tallystick.service", "tallystick-backup.service", "tallystick-backup.timer")
INSTALLED = "/srv/tallystick/bin/python"
ISOLATED = ["-I", "-m", "tallystick"]


def unit(name: str) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string((FILES / name).read_text())
    return parser


@pytest.mark.nightly
def test_systemd_finds_nothing_wrong_in_the_units(tmp_path: Path) -> None:
    """The program stands elsewhere here; everything else is as it is shipped."""
    verify = tool("systemd-analyze")
    program = tmp_path / "tallystick"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for name in UNITS:
        text = (FILES / name).read_text().replace(INSTALLED, str(program))
        (tmp_path / name).write_text(text)
    paths = [tmp_path / name for name in UNITS]
    found = subprocess.run([verify, "verify", *paths], capture_output=True, text=True, check=False)
    assert found.stdout + found.stderr == ""
    assert found.returncode == 0
    broken = tmp_path / UNITS[0]
    broken.write_text(broken.read_text().replace("ProtectSystem=strict", "ProtectSystem=maybe"))
    wrong = subprocess.run([verify, "verify", broken], capture_output=True, text=True, check=False)
    assert "protect system" in wrong.stderr


def test_the_units_call_commands_that_there_are() -> None:
    called = []
    for name in UNITS[:2]:
        for line in (FILES / name).read_text().splitlines():
            key, _, value = line.partition("=")
            if key == "ExecStart":
                words = shlex.split(value)
                assert words[:4] == [INSTALLED, *ISOLATED]
                del words[:4]
                # the state of the others comes from the environment of the service
                state = [] if words[0] == "run" else ["--state", "subnet.db"]
                called.append(command_of([*words, *state]).name)
    assert called == ["run", "export", "verify"]


def test_the_daemon_is_asked_and_ended_as_it_promises() -> None:
    """The unit waits for its notice, for ten seconds after SIGTERM, and reloads by SIGHUP."""
    service = unit("tallystick.service")["Service"]
    assert service["Type"] == "notify"
    assert int(service["TimeoutStopSec"]) >= 10
    assert getattr(signal, service["KillSignal"]) == signal.SIGTERM
    assert service["ExecReload"] == "/bin/kill -HUP $MAINPID"


def containerfile() -> list[tuple[str, str]]:
    lines = (FILES / "Containerfile").read_text().splitlines()
    return [
        (line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines if line and line[0] != "#"
    ]


def words_of(instruction: str) -> list[str]:
    (text,) = [value for name, value in containerfile() if name == instruction]
    return re.findall(r'"([^"]+)"', text)


def test_the_container_runs_the_daemon() -> None:
    assert words_of("ENTRYPOINT") == ["python", *ISOLATED]
    assert command_of(words_of("CMD")).name == "run"


def test_the_compose_file_agrees_with_the_others() -> None:
    services = yaml.safe_load((FILES / "compose.yaml").read_text())["services"]
    validator, watcher = services["validator"], services["prometheus"]
    assert (FILES / validator["build"]["dockerfile"]).exists()
    mounted = [volume.split(":")[0] for volume in watcher["volumes"]]
    assert {Path(path).name for path in mounted if path.startswith("./")} == {
        "alerts.yml",
        "prometheus.yml",
    }
    (port,) = [value for name, value in containerfile() if name == "EXPOSE"]
    assert validator["ports"] == [f"127.0.0.1:{port}:{port}"]
    targets = yaml.safe_load((FILES / "prometheus.yml").read_text())["scrape_configs"][0]
    assert targets["static_configs"][0]["targets"] == [f"validator:{port}"]
    *_, check = validator["healthcheck"]["test"]
    assert f":{port}/healthz" in check
    compile(check, "healthcheck", "exec")


ROOTED = """
set -e
mount -t tmpfs none "$1"
cd "$1"
mkdir usr etc dev proc tmp state home srv old
for folder in bin lib lib64 sbin; do
  if [ -e "/$folder" ]; then mkdir "$folder"; mount --rbind "/$folder" "$folder"; fi
done
for folder in usr dev proc; do mount --rbind "/$folder" "$folder"; done
for name in passwd group shadow nsswitch.conf hosts resolv.conf ssl alternatives ld.so.cache \\
  pip.conf login.defs default ca-certificates; do
  if [ -e "/etc/$name" ]; then cp -aL "/etc/$name" etc/; fi
done
mkdir -p "$1$2" "$1$3"
mount --rbind "$2" "$1$2"
mount --rbind "$3" "$1$3"
chmod 1777 tmp
exec chroot "$1" /bin/bash -e -c "$4"
"""
"""Arguments: a folder, that of Python, that of the wheels, and what is run in the clean root."""


@pytest.mark.nightly
def test_the_steps_of_the_container_work_in_a_clean_root(tmp_path: Path) -> None:
    """No container engine is needed: the steps run where nothing else of this machine is seen."""
    unshare = tool("unshare")
    wheels, root = tmp_path / "wheels", tmp_path / "root"
    root.mkdir()
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", wheels, str(ROOT)], check=True)
    (wheel,) = wheels.iterdir()
    version = wheel.name.split("-")[1]
    python = Path(sys.base_prefix)
    steps = [value for name, value in containerfile() if name == "RUN"]
    assert len(steps) == 2
    (user,) = [value for name, value in containerfile() if name == "USER"]
    entry = " ".join(map(shlex.quote, [*words_of("ENTRYPOINT"), "--version"]))
    as_user = f"setpriv --reuid={user} --clear-groups --no-new-privs"
    script = "\n".join(
        [
            f"export VERSION={version} PIP_FIND_LINKS={wheels} HOME=/home",
            f"{python}/bin/python3 -m venv /srv/base",
            "export PATH=/srv/base/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            *steps,
            "chown 10001 /state",
            "cd /state",
            f"{as_user} {entry}",
            f"{as_user} tallystick state init --rules skills@1.2.0 --state /state/subnet.db",
        ]
    )
    done = subprocess.run(
        [unshare, "--mount", "/bin/bash", "-c", ROOTED, "rooted", root, python, wheels, script],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"]},
    )
    assert done.returncode == 0, done.stderr
    assert version in done.stdout
