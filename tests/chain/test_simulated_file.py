"""The file of a simulated chain: what it begins with, and what is refused with its line."""

import json
import re
from pathlib import Path

import attrs
import pytest
from cli.command import Finished, run
from validator.daemons import NETWORK

from tallystick.errors import InputError
from tallystick.resources import folder
from tallystick.rules.toml_source import parse_source
from tallystick_chain.simulated.document import SimulationFile
from tallystick_chain.simulated.hotkeys import address_of, hotkey_of, signer_of
from tallystick_chain.simulated.model import Hyperparameters

SUBNET = "format = 1\n[[subnet]]\nnetuid = 7\n"
NEURON = f"{SUBNET}[[subnet.neuron]]\n"


def test_an_empty_file_is_a_chain_without_subnets() -> None:
    content = SimulationFile.of(parse_source("format = 1\n", "file"))
    chain = content.begin()
    assert (chain.best, chain.finality_lag, chain.keep_blocks) == (3, 2, 4096)
    assert content.block_time == 12.0
    assert chain.block(1).subnets == {}


def test_everything_that_a_file_can_have() -> None:
    source = parse_source(
        """
format = 1
[chain]
seed = 5
first_block = 900
finality_lag = 4
keep_blocks = 50
block_time = 0.25
[[subnet]]
netuid = 4095
mechanisms = 2
owner = "5Owner"
[subnet.hyperparameters]
tempo = 9
rate_limit_blocks = 8
min_allowed = 7
max_weight_u16 = 6
version_key = 5
commit_reveal = false
reveal_epochs = 4
max_uids = 30
max_validators = 2
stake_threshold_rao = 1
commitment_space = 3
[[subnet.neuron]]
hotkey = "5Owner"
[[subnet.neuron]]
name = "validator"
has_key = true
count = 2
stake_rao = 12
permit = true
[[subnet.neuron]]
name = "miner"
[[subnet]]
netuid = 1
""",
        "file",
    )
    content = SimulationFile.of(source)
    chain = content.begin()
    assert content.block_time == 0.25
    head = chain.as_hotkey("5Owner").head()
    assert (head.best, head.finalized) == (905, 901)
    assert chain.seconds_per_block == 0.25
    assert (chain.finality_lag, chain.keep_blocks) == (4, 50)
    subnets = chain.block(901).subnets
    subnet = subnets[4095]
    assert subnet.hyperparameters == Hyperparameters(9, 8, 7, 6, 5, False, 4, 30, 2, 1, 3)
    assert (len(subnet.mechanisms), subnet.owner, len(subnets[1].neurons)) == (2, "5Owner", 0)
    hotkeys = [address_of(signer_of(f"validator-{number}")) for number in (1, 2)]
    assert [(n.hotkey, n.stake_rao, n.permit) for n in subnet.neurons] == [
        ("5Owner", 0, False),
        (hotkeys[0], 12, True),
        (hotkeys[1], 12, True),
        (hotkey_of("miner"), 0, False),
    ]


def test_the_schema_says_the_defaults_of_hyperparameters() -> None:
    schema = json.loads((folder("schemas") / "simulated-1.schema.json").read_text("utf-8"))
    subnet = schema["properties"]["subnet"]["items"]["properties"]
    properties = subnet["hyperparameters"]["properties"]
    assert properties.keys() == attrs.fields_dict(Hyperparameters).keys()
    for name, field in attrs.fields_dict(Hyperparameters).items():
        if field.default is not None:
            default = str(field.default).lower()
            assert re.search(rf"\b{default}\b", properties[name]["description"]), name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "file: format: expected the version of this format: 1, which is missing"),
        ("format = 1\n[chain]\nseed = -1", "file:3: chain.seed: found -1, expected"),
        ("format = 1\n[chain]\nblock_time = nan", "file:3: chain.block_time"),
        ("format = 1\n[[subnet]]\nnetuid = 0", "file:3: subnet[0].netuid: found 0, expected"),
        (f"{SUBNET}[[subnet]]\nnetuid = 7", "file:5: subnet[1].netuid: the subnet 7 is there"),
        (
            f"{SUBNET}[subnet.hyperparameters]\nburn = 1",
            "file:5: subnet[0].hyperparameters.burn: found 1, expected a key of",
        ),
        (f"{SUBNET}mechanisms = 17", "file:4: subnet[0].mechanisms: found 17, expected"),
        (NEURON, "subnet[0].neuron[0]: found a table, expected a neuron: a hotkey, or a name"),
        (f'{NEURON}name = "a"\nhotkey = "5A"', "expected a neuron: a hotkey, or a name"),
        (f'{NEURON}hotkey = "5A"\ncount = 2', "subnet[0].neuron[0].name: expected a text that"),
        (f'{NEURON}hotkey = "5A"\nhas_key = true', "neuron[0].name: expected a text that"),
        (f'{NEURON}name = "A"', "file:5: subnet[0].neuron[0].name: found 'A', expected"),
        (f'{NEURON}hotkey = ""', "file:5: subnet[0].neuron[0].hotkey: found '', expected"),
        (
            f'{NEURON}hotkey = "5A"\n[[subnet.neuron]]\nhotkey = "5A"',
            "subnet[0].neuron[1]: the hotkey 5A is registered already",
        ),
        (f'{NEURON}name = "a"\ncount = 300', "subnet[0].neuron[0]: the subnet is full"),
    ],
)
def test_what_is_wrong_is_told_by_its_line_and_path(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        SimulationFile.of(parse_source(text, "file")).begin()
    found = str(caught.value).replace('"', "'")
    assert message in found
    assert found.startswith("file:")


def test_a_file_that_cannot_be_read_ends_the_command(tmp_path: Path) -> None:
    (tmp_path / "network.toml").write_text(NETWORK)

    def of(path: Path) -> Finished:
        options = ("--network", tmp_path / "network.toml", "-o", tmp_path / "snapshot.json")
        return run("chain", "snapshot", "--chain", f"simulate:{path}", *options)

    missing = of(tmp_path / "missing.toml")
    assert missing.status == 2
    assert "missing.toml: the file of a simulated chain cannot be read" in missing.err
    wrong = tmp_path / "\x1b[31mred.toml"
    wrong.write_text(f'{NEURON}hotkey = "\\u202e5A"\ncount = 2')
    done = of(wrong)
    assert done.status == 2
    assert not {"\x1b", "\u202e"} & {*done.err}
