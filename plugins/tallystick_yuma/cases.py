"""Cases: epochs of a subnet, one after the other.

::

    {"params": {"kappa": 32767, …}, "steps": [{"input": {"n": 4, …}}, …]}

What a step does not say goes on: bonds and permits from what the step before came to, weights from
what it was given. A parameter is that of the step, of the case, of its ``defaults``, or the
default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import numpy as np
from msgspec import UNSET

from tallystick.errors import YumaError
from tallystick.json_values import JsonObject
from tallystick.records.messages import NOTHING
from tallystick.records.strict_json import uncollected
from tallystick_yuma.cells import Cells
from tallystick_yuma.documents import (
    MOST_STAKE,
    Case,
    Input,
    Params,
    Settings,
    structured,
)
from tallystick_yuma.epoch import YumaOutput, epoch
from tallystick_yuma.fixed import u16
from tallystick_yuma.inputs import YumaInput, YumaParameters
from tallystick_yuma.stake import FRACTION, stake_bits

MOST_CELLS = 1 << 22
"""The most weights, and the most bonds, that a step may have."""
_NAMED = 80
"""Maximum characters of a case's name in messages."""
_CUTOFFS = {"activity_cutoff", "activity_factor"}
_SAID = (*(field.name for field in attrs.fields(YumaParameters)), "activity_factor")
_ONE_EACH = ("registered", "alpha", "tao", "commit_blocks", "weights", "bonds")


def yuma(case: Mapping[str, Any]) -> JsonObject:
    """Return every epoch of a case, computed.

    Args:
        case: ``params``, and ``steps`` that each have an ``input``, as docs/yuma.md says.

    Returns:
        ``{"steps": […]}``, for each step: ``stake_weight``, ``consensus``, ``validator_trust``,
        ``incentive`` and ``dividends`` as proportions of 65535; ``emission``, ``server_emission``
        and ``validator_emission`` as amounts; ``active``, ``permits`` and ``bonds``; and under
        ``raw`` the proportions with 32 fraction bits.

    Raises:
        YumaError: the case is malformed; the message has its name, if it has one, and the path.
    """
    with uncollected():
        return {"steps": [described(output) for output in outputs_of(case)]}


def outputs_of(case: object, name: str = "the case") -> Iterator[YumaOutput]:
    """Yield the output of each step of a case.

    Args:
        case: as `yuma` takes it.
        name: of the case in errors, unless it has one.

    Raises:
        YumaError: as `yuma`.
    """
    inputs: YumaInput | None = None
    output: YumaOutput | None = None
    for reader in _readers(case, name):
        parameters = reader.parameters()
        inputs = reader.given(parameters, inputs, output)
        output = epoch(parameters, inputs)
        yield output


def _readers(case: object, name: str) -> Iterator[_StepReader]:
    """Yield the reader of each step."""
    own = case.get("name") if isinstance(case, Mapping) else None
    name = own[:_NAMED] if own and isinstance(own, str) else name
    document = structured(case, Case, name)
    for index, step in enumerate(document.steps):
        settings = (step.input, document.params, document.defaults)
        yield _StepReader(name, f"steps[{index}].input.", settings)


def described(output: YumaOutput) -> JsonObject:
    """Return an output as JSON values, by the names of the vectors."""
    raw = {
        "stake": output.stake,
        "active_stake": output.active_stake,
        "consensus": output.consensus,
        "validator_trust": output.validator_trust,
        "incentive": output.incentive,
        "dividends": output.dividends,
    }
    proportions = {name: u16(column).tolist() for name, column in raw.items()}
    proportions["stake_weight"] = proportions.pop("stake")
    del proportions["active_stake"]
    return {
        **proportions,
        "active": output.active.tolist(),
        "emission": list(output.emission),
        "server_emission": list(output.server_emission),
        "validator_emission": list(output.validator_emission),
        "bonds": output.bonds.lists(),
        "permits": output.permits.tolist(),
        "raw": {name: column.tolist() for name, column in raw.items()},
    }


def parameters_of(values: object, name: str) -> YumaParameters:
    """Return the parameters that a mapping has, the others by default.

    Args:
        values: by the names of ``params``.
        name: of where they are from, in errors.

    Raises:
        YumaError: one is unknown, or out of its range.
    """
    return _parameters(name, "", structured(values, Settings, name))


def _parameters(name: str, path: str, *settings: Settings) -> YumaParameters:
    """Return the parameters that the first of some settings has that says them."""
    values: dict[str, Any] = {}
    for setting in reversed(settings):
        own = {key: value for key in _SAID if (value := getattr(setting, key)) is not UNSET}
        if own.keys() >= _CUTOFFS:
            expected = "it or activity_cutoff, which stands too"
            raise YumaError(name, f"{path}activity_factor", str(setting.activity_factor), expected)
        if _CUTOFFS & own.keys():
            # either is another than what stands further out
            values = {key: value for key, value in values.items() if key not in _CUTOFFS}
        values |= own
    factor = values.pop("activity_factor", None)
    parameters = YumaParameters(**values)
    if factor is not None:
        cutoff = max(1, factor * parameters.tempo // 1000)
        parameters = attrs.evolve(parameters, activity_cutoff=cutoff)
    if parameters.liquid_alpha and parameters.alpha_low > parameters.alpha_high:
        expected = f"at most alpha_high, which is {parameters.alpha_high}"
        raise YumaError(name, f"{path}alpha_low", str(parameters.alpha_low), expected)
    return parameters


class _StepReader:
    """Takes what an epoch is computed from out of one step."""

    def __init__(self, name: str, path: str, settings: tuple[Input, Params, Params]) -> None:
        """Check that every list has an entry for each uid."""
        self.name, self.path, self.settings = name, path, settings
        self.own = own = settings[0]
        for key in _ONE_EACH:
            value = self._value(key)
            if isinstance(value, list) and len(value) != own.n:
                raise self._error(key, f"{len(value)} entries", f"{own.n}, one for each uid")
        if isinstance(own.permits, list) and len(own.permits) > own.n:
            raise self._error("permits", f"{len(own.permits)} entries", f"at most {own.n}")

    def parameters(self) -> YumaParameters:
        """Return the parameters of the step."""
        parameters = _parameters(self.name, self.path, *self.settings)
        if parameters.owner_uid is not None and parameters.owner_uid >= self.own.n:
            raise self._error("owner_uid", f"uid {parameters.owner_uid}", self._below)
        return parameters

    def given(
        self, parameters: YumaParameters, before: YumaInput | None, output: YumaOutput | None
    ) -> YumaInput:
        """Return the subnet as the step finds it."""
        own, tao, commits = self.own, self._value("tao"), self._value("commit_blocks")
        inputs = YumaInput(
            block=own.block,
            emission=own.emission,
            last_update=tuple(own.last_update[: own.n]),
            registered=tuple(own.registered),
            alpha=tuple(own.alpha),
            tao=tuple(tao or [0] * own.n),
            weights=self._cells("weights", before.weights if before else None),
            bonds=self._cells("bonds", output.bonds if output else None),
            permits=self._permits(output),
            commits=tuple(commits) if commits else None,
        )
        total = stake_bits(sum(inputs.alpha), sum(inputs.tao), parameters.tao_weight) >> FRACTION
        if total > MOST_STAKE:
            raise self._error("alpha", f"a stake of {total} in all", f"at most {MOST_STAKE}")
        if max(inputs.tao) > MOST_STAKE:
            raise self._error("tao", f"a stake of {max(inputs.tao)}", f"at most {MOST_STAKE}")
        return inputs

    def _value(self, key: str) -> Any:  # noqa: ANN401  # of any field; None where nobody says it
        for settings in self.settings:
            value = getattr(settings, key, UNSET)
            if value is not UNSET:
                return value
        return None

    def _cells(self, key: str, before: Cells | None) -> Cells:
        """Return the cells of a matrix that the step has, or of the one before."""
        rows = getattr(self.own, key)
        if rows is UNSET:
            if before is None:
                raise self._error(key, NOTHING, "rows, as no step is before it")
            self._check_size(before.size, key)
            return before
        if (many := sum(map(len, rows))) > MOST_CELLS:
            expected = f"at most {MOST_CELLS}, as 2048 uids with a {key[:-1]} for each other have"
            raise self._error(key, f"{many} {key}", expected)
        cells = Cells.of(rows)
        beyond = np.flatnonzero(cells.uids >= self.own.n)
        if len(beyond):
            raise self._bad_cell(key, cells, int(beyond[0]), self._below)
        keys = cells.by_uid().keys
        if (keys[1:] == keys[:-1]).any():
            order = np.argsort(cells.keys, kind="stable")
            again = order[1:][np.diff(cells.keys[order]) == 0]
            raise self._bad_cell(key, cells, int(again.min()), "each uid once in a row")
        return cells

    def _permits(self, output: YumaOutput | None) -> tuple[bool, ...]:
        if isinstance(self.own.permits, list):
            return tuple(self.own.permits)
        if output is None:
            raise self._error("permits", NOTHING, "them, as no step is before it")
        self._check_size(len(output.permits), "permits")
        return tuple(output.permits.tolist())

    def _check_size(self, before: int, key: str) -> None:
        if before != self.own.n:
            expected = f"{before}, as {key} are those of the step before"
            raise self._error("n", str(self.own.n), expected)

    @property
    def _below(self) -> str:
        return f"a uid below n, which is {self.own.n}"

    def _bad_cell(self, key: str, cells: Cells, place: int, expected: str) -> YumaError:
        row = int(cells.rows[place])
        within = place - int(np.searchsorted(cells.rows, row))
        return self._error(f"{key}[{row}][{within}]", f"uid {cells.uids[place]}", expected)

    def _error(self, key: str, found: str, expected: str) -> YumaError:
        return YumaError(self.name, self.path + key, found, expected)
