"""`tallystick plugins list`."""

from cli.command import run
from installed import beside

from tallystick.plugins.code import engine_digest, plugin_digest

OWN = ["allocation", "consensus", "reward", "skills", "workflow"]


def test_the_plugins_of_the_project_are_listed() -> None:
    found = run("plugins", "list", "--json")
    assert found.status == 0
    said = found.json()
    assert said.keys() == {"engine", "plugins", "refused"}
    assert said["engine"] == engine_digest()
    assert said["refused"] == []
    offers = {plugin["name"]: plugin for plugin in said["plugins"]}
    assert {"skills", "workflow"} <= offers.keys()
    assert "mcp_server" in offers["skills"]["skill_types"]
    assert "workflow/success@1" in offers["workflow"]["formulas"]
    assert "workflow/budget-positive" in offers["workflow"]["requirements"]
    for plugin in said["plugins"]:
        keys = {"name", "distribution", "version", "code"}
        assert plugin.keys() == {*keys, "skill_types", "formulas", "requirements"}
        assert plugin["code"] == plugin_digest(f"tallystick_{plugin['name']}.plugin")


def test_people_are_told_the_same_as_machines() -> None:
    text = run("plugins", "list").out
    for plugin in run("plugins", "list", "--json").json()["plugins"]:
        assert f"{plugin['name']}  ({plugin['distribution']} {plugin['version']})\n" in text
        assert f"    code: {plugin['code']}\n" in text
        for offers in (plugin["skill_types"], plugin["formulas"], plugin["requirements"]):
            assert (", ".join(offers) or "none") in text


def test_a_refused_plugin_is_named_and_the_rest_are_listed() -> None:
    chosen = {"TALLYSTICK_PLUGINS": "skills,levitation"}
    with beside():
        plain, machine = (run("plugins", "list", *each, env=chosen) for each in ((), ("--json",)))
    assert plain.status == machine.status == 1
    assert plain.err.startswith("levitation  refused: ")
    assert [plugin["name"] for plugin in machine.json()["plugins"]] == OWN
    assert [refused["name"] for refused in machine.json()["refused"]] == ["levitation"]
