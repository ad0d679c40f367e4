"""What a run tells on the error output: `-v` for people, `--log-json` for machines."""

import json
import logging
from pathlib import Path
from typing import Any

from cli.command import SKILLS, run
from cli.stores import Subnet


def told(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_verbose_tells_what_is_done(subnet: Subnet) -> None:
    quiet = subnet.do("epoch", "close", "--epoch", "0")
    loud = subnet.do("epoch", "close", "--epoch", "1", "-v")
    assert quiet.err == ""
    lines = loud.err.splitlines()
    assert lines[0].startswith("info: started  command=tallystick epoch close")
    assert any("opened a state" in line and "rule_set=skills@1.0.0" in line for line in lines)
    assert any("wrote to the log of the state  entries=1" in line for line in lines)
    assert lines[-1] == "info: finished  status=0"


def test_the_log_is_json_lines_errors_too(tmp_path: Path) -> None:
    absent = tmp_path / "absent.jsonl"
    found = run("--log-json", "explain", absent, "--rules", "skills@1.0.0")
    events = told(found.err)
    assert (found.status, found.out) == (2, "")
    assert events[0]["event"] == "started"
    assert events[-2]["level"] == "error"
    assert events[-2]["event"] == f"{absent}: no such file: check the name"
    assert events[-1] == events[-1] | {"event": "finished", "status": 2}
    assert all({"time", "level", "logger", "event"} <= event.keys() for event in events)


def test_wrong_use_is_json_too() -> None:
    found = run("explain", SKILLS, "--rules", "skills@1.0.0", "--line", "x", "--log-json")
    assert found.status == 2
    assert "'x' is not a valid integer" in told(found.err)[-2]["event"]


def test_results_through_a_pipe_leave_the_log_to_itself() -> None:
    found = run("score", SKILLS, "--rules", "skills@1.0.0", "-o", "-", "--log-json")
    assert found.status == 0
    assert "scored a file" in {each["event"] for each in told(found.err)}


def test_a_log_ends_with_its_run(subnet: Subnet) -> None:
    assert subnet.do("state", "info", "--log-json").err
    assert subnet.do("state", "info").err == ""


def test_a_warning_between_two_runs_is_told_by_neither() -> None:
    assert run("rules", "list").err == ""
    logging.getLogger("tallystick.planted").warning("of nobody's run")
    assert run("rules", "list").err == ""
