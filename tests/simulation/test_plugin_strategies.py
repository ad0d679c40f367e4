"""Plugins bring strategies by a hook; they are checked, named and run as those of the project."""

import sys
from importlib.metadata import EntryPoint
from typing import Any

import attrs
import guesser
import pytest
from networks import key, network, shipped, strategies

from tallystick.errors import PluginError
from tallystick.plugins.author import Strategy
from tallystick.plugins.entries import GROUP
from tallystick.plugins.registry import InstalledPlugins, Plugin, Registry, joined, registry
from tallystick.plugins.strategy import Answer
from tallystick_simulation.pool import Key, Pool
from tallystick_simulation.run import run


@pytest.fixture
def strangers() -> Registry:
    """The plugins of a rule set, with that of a stranger."""
    own = InstalledPlugins([EntryPoint("guesser", "guesser", GROUP)]).every()
    assert own.refused == {}
    return joined(shipped("skills@1.2.0").registry, own.plugins["guesser"])


def test_a_strategy_of_a_stranger_answers_tasks_of_its_type(strangers: Registry) -> None:
    pool = Pool(strangers, seed=1, tasks=16)
    named = strategies(shipped("skills@1.2.0"), pool)
    guess, spoil = (Key(named[f"guesser/{name}"].behaviour, 75) for name in ("guess", "spoil"))
    block = pool.of("declarative").block(guess)
    honest = pool.of("declarative").block(key("honest", 75))
    assert 4 < block.answered.sum() < 16
    answered = [r for r, is_there in zip(block.records, block.answered, strict=True) if is_there]
    assert {record["submission"]["verdict"] for record in answered} == {"ALLOW", "BLOCK"}
    assert [r["task"] for r in block.records] == [r["task"] for r in honest.records]
    spoiled = pool.of("declarative").block(spoil)
    assert spoiled.records == honest.records
    other = pool.of("mcp_server")
    assert other.block(guess).records == other.block(key("honest", 75)).records


def test_a_strategy_of_a_stranger_runs(strangers: Registry) -> None:
    pool, rules = Pool(strangers, seed=1, tasks=8), shipped("skills@1.2.0")
    outcome = run(network(rules, pool, "guesser/guess", epochs=1), pool)
    assert outcome.work[:, 0].sum() == outcome.answers[:, 0].sum() * 20_000_000


def test_strategies_stand_under_the_name_of_their_plugin() -> None:
    found = registry([EntryPoint("other", "guesser", GROUP)])
    assert "guesser/guess, guesser/spoil, expected names that begin with" in found.refused["other"]
    (guess, _) = guesser.tallystick_strategies()
    plugin = Plugin("guesser", "d", "1", strategies=(guess, attrs.evolve(guess)))
    with pytest.raises(PluginError, match="its strategies have names that are taken: guesser/gue"):
        joined(shipped("skills@1.2.0").registry, plugin)


def _leave(*_: object) -> None:
    sys.exit(3)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda *_: 5, "TypeError: argument of type 'int' is not iterable: fix the plugin"),
        (_leave, "SystemExit: 3: fix the plugin"),
    ],
)
def test_a_strategy_that_fails_is_named(answer: Answer, reason: str) -> None:
    strategy = Strategy("acme/odd", "fails", ("declarative",), answer)
    plugin = Plugin("acme", "d", "1", strategies=(strategy,))
    rules = shipped("skills@1.2.0")
    pool = Pool(joined(rules.registry, plugin), seed=1, tasks=1)
    odd = Key(strategies(rules, pool)["acme/odd"].behaviour, 75)
    with pytest.raises(PluginError, match=rf"^the strategy 'acme/odd' failed: {reason}"):
        _ = pool.of("declarative").block(odd).records


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ({"fields": lambda *_: None}, "fields of the .* Expected `object`, got `null`: fix"),
        ({"events": lambda *_: [3]}, "events of the .* Expected `str`, got `int`"),
        ({"task": lambda _: object()}, "task of the .* TypeError: Encoding objects"),
        ({"checks": _leave}, "checks of the .* SystemExit: 3"),
    ],
)
def test_a_generator_that_fails_is_named(made: dict[str, Any], reason: str) -> None:
    registry = shipped("skills@1.2.0").registry
    own = registry.skill_types["declarative"]
    of_stranger = attrs.evolve(own, generator=attrs.evolve(own.generator, **made))
    types = {**registry.skill_types, "declarative": of_stranger}
    pool = Pool(attrs.evolve(registry, skill_types=types), seed=1, tasks=1)
    with pytest.raises(PluginError, match=reason):
        _ = pool.of("declarative").block(key("honest", 75)).records
