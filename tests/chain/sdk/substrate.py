"""The simulated chain as the protocol `Substrate` of the SDK 11: its official seam for tests.

A row that the SDK has sealed cannot be opened, so `open_seals` makes its seal readable text; the
simulated chain seals rows in its own way. Everything that is not here raises.
"""

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import bittensor_core
from bittensor import Balance
from bittensor.result import ChainError as RejectedError
from bittensor.result import ExtrinsicResult

from tallystick_chain.chain import Receipt
from tallystick_chain.simulated.model import SubnetState
from tallystick_chain.simulated.simulation import SimulatedChain

_HEAD = "0x" + "f" * 64


def open_seals() -> None:
    """Write a row as text where the SDK would seal it until a round of the beacon."""

    def sealed(**row: Any) -> tuple[bytes, int]:  # noqa: ANN401  # as the SDK calls it
        named = {"pairs": list(zip(row["uids"], row["weights"], strict=True))}
        return json.dumps({**named, "key": row["version_key"]}).encode(), 1

    bittensor_core.get_encrypted_commit_v2 = sealed


class SimulatedSubstrate:
    """A simulated chain, on which a block follows each call."""

    def __init__(self, chain: SimulatedChain) -> None:
        self._chain = chain
        self.token_symbols: dict[int, str] = {}
        self.endpoint = "simulated"
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def balance(self, rao: int, netuid: int = 0) -> Balance:
        return Balance(int(rao), netuid, None)

    async def connect(self) -> None:
        """Nothing is there to connect to."""

    async def close(self) -> None:
        """Nothing is there to close."""

    # blocks

    async def block_hash(self, block: int | None = None) -> str:
        return _HEAD if block is None else self._chain.block(block).digest

    async def block_number(self) -> int:
        return self._chain.best

    async def finalized_block_number(self) -> int:
        return self._chain.finalized

    async def blocks(self, *, finalized: bool = False) -> AsyncIterator[dict[str, Any]]:
        number = self._chain.finalized if finalized else self._chain.best
        yield {"header": {"number": number, "parentHash": None}}

    async def block_time(self) -> float:
        return self._chain.seconds_per_block

    async def spec_version(self) -> int:
        return 461

    def _at(self, block_hash: str | None) -> tuple[int, Any]:
        """The block of a hash, and the subnets after it."""
        numbers = range(self._chain.best, -1, -1)
        blocks = (self._chain.block(number) for number in numbers)
        found = next(each for each in blocks if block_hash in {None, _HEAD, each.digest})
        return found.number, found.subnets

    # reads

    async def query(
        self,
        module: str,
        storage_function: str,
        params: Sequence[Any] = (),
        block_hash: str | None = None,
    ) -> Any:  # noqa: ANN401  # any item
        block, subnets = self._at(block_hash)
        if module == "Timestamp":
            return round(1000 * self._chain.as_hotkey("").block_time(block).timestamp())
        if module != "SubtensorModule":
            raise NotImplementedError(module)
        mechanism, netuid = divmod(int(params[0]), 4096)
        subnet = subnets.get(netuid)
        if storage_function == "NetworksAdded" or subnet is None:
            return subnet is not None
        return self._item(subnet, block, mechanism, storage_function, list(params[1:]))

    def _item(  # what a key consists of
        self, subnet: SubnetState, block: int, mechanism: int, name: str, key: list[Any]
    ) -> Any:  # noqa: ANN401  # any item
        rules = subnet.hyperparameters
        items = {
            "MechanismCountCurrent": lambda: len(subnet.mechanisms),
            "SubnetworkN": lambda: len(subnet.neurons),
            "Tempo": lambda: rules.tempo,
            "LastEpochBlock": lambda: subnet.last_epoch_block,
            "PendingEpochAt": lambda: subnet.pending_epoch_block,
            "SubnetEpochIndex": lambda: subnet.epoch,
            "BlocksSinceLastStep": lambda: block - subnet.last_epoch_block,
            "WeightsSetRateLimit": lambda: rules.rate_limit_blocks,
            "MinAllowedWeights": lambda: rules.min_allowed,
            "MaxWeightsLimit": lambda: rules.max_weight_u16,
            "WeightsVersionKey": lambda: rules.version_key,
            "CommitRevealWeightsEnabled": lambda: rules.commit_reveal,
            "RevealPeriodEpochs": lambda: rules.reveal_epochs,
            "SubnetEpochConsensus": lambda: "Yuma",
            "SubnetOwnerHotkey": lambda: subnet.owner,
            "Uids": lambda: subnet.uid_of(key[0]),
            "LastUpdate": lambda: list(subnet.mechanisms[mechanism].last_update),
            "Weights": lambda: list(subnet.mechanisms[mechanism].rows.get(key[0], ())),
        }
        return items[name]()

    async def query_map(
        self,
        module: str,
        storage_function: str,
        params: Sequence[Any] = (),
        block_hash: str | None = None,
    ) -> list[tuple[Any, Any]]:
        if (module, storage_function) == ("SubtensorModule", "TokenSymbol"):
            return []
        _, subnets = self._at(block_hash)
        mechanism, netuid = divmod(int(params[0]), 4096)
        subnet = subnets[netuid]
        if storage_function == "CommitmentOf":
            return [
                (
                    who,
                    {
                        "deposit": 0,
                        "block": each.block,
                        "info": {"fields": [{f"Raw{len(each.data)}": f"0x{each.data.hex()}"}]},
                    },
                )
                for who, each in subnet.commitments.items()
            ]
        if storage_function != "TimelockedWeightCommits":
            raise NotImplementedError(storage_function)
        return [
            (row.epoch, [(row.hotkey, row.block, b"sealed", row.reveal_round)])
            for row in subnet.mechanisms[mechanism].committed
        ]

    async def runtime_call(
        self, api: str, method: str, params: Sequence[Any], block_hash: str | None = None
    ) -> Any:  # noqa: ANN401  # any answer
        subnet = self._at(block_hash)[1].get(params[0])
        if (api, method) == ("SubnetInfoRuntimeApi", "get_next_epoch_start_block"):
            return None if subnet is None else subnet.next_epoch_block()
        if (api, method) != ("SubnetInfoRuntimeApi", "get_metagraph"):
            raise NotImplementedError(method)
        return subnet and {
            "hotkeys": [neuron.hotkey for neuron in subnet.neurons],
            "coldkeys": [neuron.coldkey for neuron in subnet.neurons],
            "validator_permit": [neuron.permit for neuron in subnet.neurons],
            "block_at_registration": [neuron.registered_block for neuron in subnet.neurons],
            "total_stake": [neuron.stake_rao for neuron in subnet.neurons],
        }

    # calls

    async def compose(self, call: Any) -> Any:  # noqa: ANN401  # of the SDK
        return call

    async def estimate_fee(self, _call: Any, _keypair: Any) -> Balance:  # noqa: ANN401
        return Balance(0, 0, None)

    async def submit(self, call: Any, keypair: Any, **_options: Any) -> ExtrinsicResult:  # noqa: ANN401
        _, name, arguments = call
        self.calls.append((name, dict(arguments)))
        view = self._chain.as_hotkey(keypair.ss58_address)
        if name == "set_commitment":
            [[field]] = arguments["info"]["fields"]
            [data] = field.values()
            receipt = view.commit(arguments["netuid"], data, 60.0)
        else:
            receipt = view.submit_row(
                arguments["netuid"], arguments["mecid"], *_row_of(name, arguments), 60.0
            )
        self._chain.advance()
        return _result_of(receipt)


def _row_of(name: str, arguments: dict[str, Any]) -> tuple[tuple[tuple[int, int], ...], int]:
    if name == "set_mechanism_weights":
        pairs = zip(arguments["dests"], arguments["weights"], strict=True)
        return tuple(pairs), arguments["version_key"]
    row = json.loads(arguments["commit"])
    return tuple((uid, weight) for uid, weight in row["pairs"]), row["key"]


def _result_of(receipt: Receipt) -> ExtrinsicResult:
    if receipt.kind == "refused":
        error = RejectedError(receipt.chain_error, receipt.chain_error)
        return ExtrinsicResult(False, str(error), block_hash=receipt.block_hash, error=error)
    return ExtrinsicResult(True, "Success", block_hash=receipt.block_hash)
