"""Made-up network: a state to look at, with miners, epochs and a change of rules.

Its records are those of ``tallystick records generate``; the same state each time.
"""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tallystick.plugins.registry import installed
from tallystick.rules.loading import load
from tallystick_conformance.testing.history import history_of
from tallystick_state.checkpoints import checkpoint
from tallystick_state.ledger import Ledger

_SEED = 7
_MINERS, _VALIDATORS = 72, 3
_EPOCHS, _ROUNDS = 12, 3
_RECORDS = 3000
_FIRST, _SECOND = "skills@1.1.0", "skills@1.2.0"
_ADOPTED_AT = 7
MINER = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY"
"""The hotkey of a miner by which everybody can sign: that of the development key ``//Alice``."""
_BEGIN = datetime(2026, 1, 5, tzinfo=UTC)
_ROUND = timedelta(hours=2)


def made_up_state(folder: Path) -> Ledger:
    """Return the state of a made-up network, in a new store in a folder."""
    registry = installed()
    types = load(_FIRST, registry).rule_set.skill_types
    history = history_of(
        _SEED,
        [registry.skill_types[name] for name in types],
        miners=_MINERS,
        validators=_VALIDATORS,
        epochs=_EPOCHS,
        rounds=_ROUNDS,
    )
    one = next(iter(history.network.miners.values()))[0].hotkey.encode()
    by_round = defaultdict[int, list[bytes]](list)
    for line in history.lines(_RECORDS):
        by_round[json.loads(line)["round"]].append(line.replace(one, MINER.encode()))
    ledger = Ledger.create(folder / "demo.db", _FIRST)
    miners = folder / "miners.csv"
    miners.write_bytes(history.network.to_csv().replace(one, MINER.encode()))
    ledger.sync_miners(miners)
    ledger.adopt(_SECOND, _ADOPTED_AT)
    for number in sorted(by_round):
        at = _BEGIN + number * _ROUND
        ledger.close_round(by_round[number], number, at, bad="reject")
        epoch, rest = divmod(number + 1, _ROUNDS)
        if not rest:
            ledger.close_epoch(epoch - 1, at)
    # the leaves of its epochs are kept once somebody who may write asks for them
    checkpoint(ledger)
    return ledger
