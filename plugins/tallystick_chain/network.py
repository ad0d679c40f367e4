"""The network file: when rounds and epochs begin and end on a chain, and what validators share.

It is TOML (``schemas/network-1.schema.json``). Its digest is of its content, such that comments,
spelling, the order of lists and defaults that are written out are free; validators of one network
have one digest. All blocks follow from it by whole numbers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import attrs

from tallystick.canonical import digest
from tallystick.io.paths import PathLike, path_of
from tallystick.json_values import json_value
from tallystick.rules.findings import shown
from tallystick.rules.toml import Document
from tallystick.rules.toml_source import check_source, parse_source, read_source
from tallystick_chain.chain import Neuron

SEED_DELAY = 2
"""Blocks before the first of a round whose hash is the seed of its groups, by default."""
COMMIT_BY = 25
"""Blocks after the end of an epoch until which a batch may be committed, by default: a quarter of
the epoch, but at most these."""
QUORUM = Fraction(1, 2)
"""Share of the stake that is heard, more than which must hold a batch, by default."""

_LARGEST_NUMBER = 2**53 - 1
_TABLES = ("format", "network", "rounds", "epochs", "groups", "miners")
"""Tables of a network in the file of a daemon that has no peers, beside ``weights.at``."""
_DAEMON = "validator"
"""The table by which a file is that of a daemon."""

Types: TypeAlias = tuple[str, ...] | Literal["all"]
"""Skill types, ascending; or all that the rules have."""
DueKind = Literal["round", "epoch", "commit", "vote", "close", "weights"]
"""Kinds of blocks that a network file names; see `Network.next_blocks`."""


def _sorted(value: Any) -> Any:  # noqa: ANN401  # a word, or some
    """Return a word as it is, and a list in ascending order."""
    return value if isinstance(value, str) else tuple(sorted(value))


@attrs.frozen
class Exchange:
    """The exchange of batches between validators.

    Attributes:
        commit_by: blocks after the end of an epoch until which a batch may be committed.
        vote_by: blocks after the end of an epoch until which votes count.
        quorum: the share of the stake that is heard, more than which must hold a batch.
        hear: the hotkeys of the validators that are heard, ascending; or those with a permit.
        minimum_stake_rao: the least stake of a validator that is heard, in rao.
    """

    commit_by: int
    vote_by: int
    quorum: Fraction = attrs.field(default=QUORUM, converter=Fraction)
    hear: tuple[str, ...] | Literal["permit"] = attrs.field(default="permit", converter=_sorted)
    minimum_stake_rao: int = 0

    def is_heard(self, neuron: Neuron) -> bool:
        """Return whether a neuron is a validator that is heard, by its permit and stake."""
        is_named = neuron.permit if self.hear == "permit" else neuron.hotkey in self.hear
        return is_named and neuron.stake_rao >= self.minimum_stake_rao


@attrs.frozen
class MinerRules:
    """The neurons that are miners, and their skill types: a metagraph has none.

    Attributes:
        types: of miners that no rule names; empty: they are no miners.
        validators_from_rao: the stake from which a neuron with a permit is a validator and no
            miner, unless a rule names it; None: every neuron may be a miner.
        immunity_blocks: blocks after its registration for which a miner is immune, where rules
            read that.
        by_hotkey: types by hotkey, which count most.
        by_uid: types by uid.
    """

    types: Types = attrs.field(default="all", converter=_sorted)
    validators_from_rao: int | None = None
    immunity_blocks: int = 0
    by_hotkey: Mapping[str, Types] = MappingProxyType({})
    by_uid: Mapping[int, Types] = MappingProxyType({})

    def types_of(self, neuron: Neuron, every: Collection[str]) -> tuple[str, ...]:
        """Return the skill types of a neuron, ascending; empty of one that is no miner.

        Args:
            neuron: the neuron.
            every: the types that the rules in force have.
        """
        types = self.by_hotkey.get(neuron.hotkey, self.by_uid.get(neuron.uid))
        if types is None:
            least = self.validators_from_rao
            if least is not None and neuron.permit and neuron.stake_rao >= least:
                return ()
            types = self.types
        return tuple(sorted(every)) if types == "all" else types


@attrs.frozen
class Due:
    """A block at which something is due.

    Attributes:
        block: the block.
        kind: a ``round`` or an ``epoch`` begins; batches of an epoch are to be committed, votes
            counted, the epoch closed; or its row of weights is due.
        number: of the round, or of the epoch.
    """

    block: int
    kind: DueKind
    number: int


@attrs.frozen(slots=False)
class Network:
    """The content of a network file.

    An epoch has the blocks from its first to the one before its end block, which is the first of
    the next.

    Attributes:
        name: of the network, as statements have it.
        netuid: the number of its subnet.
        anchor_block: the first block of epoch 0 and of round 0.
        round_blocks: blocks of a round.
        epoch_rounds: rounds of an epoch.
        weights_at: blocks after the end of an epoch at which its row is due.
        mechanism: of the subnet.
        genesis: the digest of the rules of epoch 0; None where the file has none.
        exchange: of batches; None of a validator alone.
        seed_delay: blocks before the first of a round whose hash is the seed of its groups.
        miners: which neurons are miners.
    """

    name: str
    netuid: int
    anchor_block: int
    round_blocks: int
    epoch_rounds: int
    weights_at: int
    mechanism: int = 0
    genesis: str | None = None
    exchange: Exchange | None = None
    seed_delay: int = SEED_DELAY
    miners: MinerRules = MinerRules()

    @classmethod
    def load(cls, path: PathLike) -> Network:
        """Return the content of a network file.

        Raises:
            InputError: the file cannot be read, is no network file, or contradicts itself; the
                message has the file, the line, the path of the value, and what was expected.
        """
        return cls.of(read_source(path_of(path, "a network file"), "a network file"))

    @classmethod
    def parse(cls, text: str, where: str) -> Network:
        """Return the content of the text of a network file.

        Args:
            text: TOML.
            where: the name of the file, for errors.

        Raises:
            InputError: as `load`.
        """
        return cls.of(parse_source(text, where))

    @classmethod
    def of(cls, source: Document) -> Network:
        """Return the content of the tables of a network file, or of the file of a daemon with them.

        Raises:
            InputError: as `load`.
        """
        if _DAEMON in source.data:
            tables = {name: source.data[name] for name in _TABLES if name in source.data}
            weights = source.data.get("weights", {})
            tables["weights"] = {name: weights[name] for name in ("at",) if name in weights}
            source = attrs.evolve(source, data=tables)
        check_source(source, "network-1")
        network = _network(source.data, source)
        _check_blocks(network, source)
        return network

    @cached_property
    def digest(self) -> str:
        """The digest of the content: ``sha256:`` and 64 hexadecimal digits."""
        return digest(self.to_json())

    @property
    def epoch_blocks(self) -> int:
        """Blocks of an epoch."""
        return self.round_blocks * self.epoch_rounds

    def round_at(self, block: int) -> int | None:
        """Return the round that has a block; None before the anchor block."""
        since = block - self.anchor_block
        return None if since < 0 else since // self.round_blocks

    def epoch_at(self, block: int) -> int | None:
        """Return the epoch that has a block; None before the anchor block."""
        number = self.round_at(block)
        return None if number is None else self.epoch_of_round(number)

    def first_block(self, epoch: int) -> int:
        """Return the first block of an epoch."""
        return self.anchor_block + _number(epoch) * self.epoch_blocks

    def end_block(self, epoch: int) -> int:
        """Return the block at which an epoch ends: the first block of the next one."""
        return self.first_block(epoch) + self.epoch_blocks

    def first_block_of_round(self, number: int) -> int:
        """Return the first block of a round."""
        return self.anchor_block + _number(number) * self.round_blocks

    def seed_block(self, number: int) -> int:
        """Return the block whose hash is the seed of the groups of a round.

        It is before the first block of the round, such that it is finalized, and the groups are
        known, about when the round begins.
        """
        return self.first_block_of_round(number) - self.seed_delay

    def rounds_of(self, epoch: int) -> range:
        """Return the numbers of the rounds of an epoch."""
        first = _number(epoch) * self.epoch_rounds
        return range(first, first + self.epoch_rounds)

    def epoch_of_round(self, number: int) -> int:
        """Return the epoch that has a round."""
        return _number(number) // self.epoch_rounds

    def commit_block(self, epoch: int) -> int:
        """Return the last block at which a batch may be committed; without exchange the end."""
        return self.end_block(epoch) + (0 if self.exchange is None else self.exchange.commit_by)

    def vote_block(self, epoch: int) -> int:
        """Return the last block at which votes count, and an epoch can be closed; else its end."""
        return self.end_block(epoch) + (0 if self.exchange is None else self.exchange.vote_by)

    def weights_block(self, epoch: int) -> int:
        """Return the block from which on the row of an epoch is due."""
        return self.end_block(epoch) + self.weights_at

    def next_blocks(self, after: int) -> tuple[Due, ...]:
        """Return for each kind the first block behind another, by block.

        Args:
            after: the block behind which they are.
        """
        starts: dict[DueKind, int] = {
            "round": self.anchor_block,
            "epoch": self.anchor_block,
            "close": self.vote_block(0),
            "weights": self.weights_block(0),
        }
        if self.exchange is not None:
            starts |= {"commit": self.commit_block(0), "vote": self.vote_block(0)}
        due = []
        for kind, start in starts.items():
            period = self.round_blocks if kind == "round" else self.epoch_blocks
            number = max(0, (after - start) // period + 1)
            due.append(Due(start + number * period, kind, number))
        return tuple(sorted(due, key=lambda item: (item.block, item.kind)))

    def to_json(self) -> dict[str, Any]:
        """Return the content as the JSON value that has the digest; defaults are left out."""
        return {"format": 1, **_table(self)}


def _network(tables: Mapping[str, Any], source: Document) -> Network:
    round_blocks, epoch_rounds = tables["rounds"]["blocks"], tables["epochs"]["rounds"]
    exchange = None
    if "exchange" in tables:
        exchange = _exchange(tables["exchange"], round_blocks * epoch_rounds)
    closed = 0 if exchange is None else exchange.vote_by
    return Network(
        **tables["network"],
        round_blocks=round_blocks,
        epoch_rounds=epoch_rounds,
        weights_at=tables.get("weights", {}).get("at", closed),
        exchange=exchange,
        seed_delay=tables.get("groups", {}).get("delay", SEED_DELAY),
        miners=_miners(tables.get("miners", {}), source),
    )


def _exchange(table: Mapping[str, Any], epoch_blocks: int) -> Exchange:
    commit_by = table.get("commit_by", max(1, min(COMMIT_BY, epoch_blocks // 4)))
    vote_by = table.get("vote_by", min(2 * commit_by, epoch_blocks))
    return Exchange(**{**table, "commit_by": commit_by, "vote_by": vote_by})


def _miners(table: Mapping[str, Any], source: Document) -> MinerRules:
    named: dict[str, dict[Any, Types]] = {"hotkeys": {}, "uids": {}}
    for index, rule in enumerate(table.get("rule", ())):
        for name, by_key in named.items():
            for place, key in enumerate(rule.get(name, ())):
                if key in by_key:
                    path = ("miners", "rule", index, name, place)
                    raise source.error(path, f"found {shown(key)}, expected each in one rule")
                by_key[key] = _sorted(rule["types"])
    others = {name: value for name, value in table.items() if name != "rule"}
    return MinerRules(**others, by_hotkey=named["hotkeys"], by_uid=named["uids"])


def _check_blocks(network: Network, source: Document) -> None:
    """Refuse blocks that are out of order.

    Raises:
        InputError: the first of them.
    """
    length, exchange, delay = network.epoch_blocks, network.exchange, network.seed_delay
    closed = 0 if exchange is None else exchange.vote_by
    vote_by, at = ("exchange", "vote_by"), ("weights", "at")
    most = f"at most the {length} blocks of an epoch: the next has"
    if exchange is not None and exchange.commit_by >= closed:
        expected = f"more than commit_by, {exchange.commit_by}: votes are about commits"
        raise source.error(vote_by, f"found {closed}, expected {expected}")
    if closed > length:
        raise source.error(vote_by, f"found {closed}, expected {most} commits of its own")
    if network.weights_at < closed:
        expected = f"at least vote_by, {closed}: weights are those of a closed epoch"
        raise source.error(at, f"found {network.weights_at}, expected {expected}")
    if network.weights_at > length:
        raise source.error(at, f"found {network.weights_at}, expected {most} a row of its own")
    if network.anchor_block < delay:
        expected = f"at least {delay}, as the first round has a seed: groups.delay"
        found = f"found {network.anchor_block}, expected {expected}"
        raise source.error(("network", "anchor_block"), found)


def _number(number: int) -> int:
    """Return the number of a round or an epoch.

    Raises:
        ValueError: it is negative: nothing is before the anchor block.
    """
    if number < 0:
        raise ValueError(f"found the number {number}, expected at least 0")
    return number


def exact_number(value: Any) -> Any:  # noqa: ANN401  # JSON
    """Return a JSON value; a number above those that every reader of JSON has, as text."""
    return str(value) if isinstance(value, int) and value > _LARGEST_NUMBER else value


def _table(value: Any) -> dict[str, Any]:  # noqa: ANN401  # any attrs value of this module
    """Return the fields of a value as JSON; those that have their default are left out."""
    items = ((field, getattr(value, field.name)) for field in attrs.fields(type(value)))
    return {
        field.name: _table(item) if attrs.has(type(item)) else exact_number(json_value(item))
        for field, item in items
        if item != field.default
    }
