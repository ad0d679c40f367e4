"""The files of a new validator: its configuration, a feeder, a unit, and a chain to try it on."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from tallystick.plugins.skill_type import SkillType
from tallystick_chain.simulated.hotkeys import hotkey_of
from tallystick_conformance.project import rendered
from tallystick_conformance.testing.samples import examples_of

CONFIGURATION, NETWORK, STATE = "validator.toml", "network.toml", "subnet.db"
"""Names of files in the folder of a validator."""
_TEMPLATE = Path(__file__).parent / "template"
_FILLED = ("skill_type", "task_id", "round", "epoch", "validator", "miner", "role")
"""Fields of a record that the feeder or the daemon knows."""
_MINERS = 8
"""Number of miners of the chain in ``simulated.toml``."""
_REWARD = '{"checks": {"reward": round(random.random(), 6)}}'


@attrs.frozen(kw_only=True)
class NewValidator:
    """Choices that the files of a new validator are written by.

    Attributes:
        folder: where they will be.
        netuid: of the subnet.
        skill_type: the type of the records.
        url: of the chain.
        key: the file of the hotkey.
        anchor_block: the first block of epoch 0; None where the network has a file.
        network: the text of the network file; None where the configuration has the network.
        is_simulated: whether the chain is a simulated one.
    """

    folder: Path
    netuid: int
    skill_type: SkillType
    url: str
    key: str
    anchor_block: int | None = None
    network: str | None = None
    is_simulated: bool = False

    def files(self) -> Mapping[str, str]:
        """Return the text of every file, by its name."""
        names = [CONFIGURATION, "feed.py", "tallystick.service"]
        names += ["simulated.toml"] if self.is_simulated else []
        files = {
            name: rendered((_TEMPLATE / f"{name}.txt").read_text("utf-8"), self._values())
            for name in names
        }
        return files if self.network is None else {**files, NETWORK: self.network}

    def _values(self) -> Mapping[str, str | bool]:
        key = hotkey_of("validator") if self.is_simulated else self.key
        miners = (hotkey_of(f"miner-{n}") for n in range(1, _MINERS + 1))
        return {
            "url": json.dumps(self.url, ensure_ascii=False),
            "key": json.dumps(key, ensure_ascii=False),
            "miners": "".join(f"    {json.dumps(hotkey)},\n" for hotkey in miners),
            "netuid": str(self.netuid),
            "anchor": str(self.anchor_block),
            "network": "" if self.network is None else NETWORK,
            "simulated": self.is_simulated,
            "type": self.skill_type.name,
            "parts": self._parts(),
            "folder": str(self.folder.absolute()).replace("%", "%%"),
            "program": f"{shlex.quote(sys.executable)} -I -m tallystick",
        }

    def _parts(self) -> str:
        """Return the expression of what a validator measured, as Python."""
        if self.skill_type.name == "reward":
            return _REWARD
        example: dict[str, Any] = next(iter(examples_of(self.skill_type)), {})
        return repr({name: value for name, value in example.items() if name not in _FILLED})
