"""Made-up subnets as cases: small ones with everything odd in them, and large ones."""

import random
from typing import Any

Json = dict[str, Any]
Rows = list[list[list[int]]]

_U16 = (0, 1, 2, 100, 21845, 32767, 32768, 65534, 65535)


def odd_net(seed: int) -> Json:
    """A case of 1 to 20 uids: unsorted rows, listed zeros, short masks, ties, late miners."""
    draw = random.Random(seed)
    n = draw.randint(1, 20)
    yuma3 = draw.random() < 0.6
    low = draw.choice([0, 1638, 45875, 65535])
    params = {
        "kappa": draw.choice([0, 21845, 32767, 32767, 43690, 65535]),
        "bonds_penalty": draw.choice([0, 65535, 65535, draw.randrange(65536)]),
        "bonds_moving_average": draw.choice([0, 900000, 975000, 10**6]),
        "yuma3": yuma3,
        "liquid_alpha": draw.random() < 0.6,
        "alpha_low": low,
        "alpha_high": draw.choice([low, 65535, draw.randint(low, 65535)]),
        "alpha_sigmoid_steepness": draw.choice([-32768, -100, 0, 7, 200, 1000, 32767]),
        "max_validators": draw.choice([1, n // 2 + 1, 64, 64, 64]),
        "stake_threshold": draw.choice([0, 0, 0, 500]),
        "owner_uid": draw.choice([None, None, draw.randrange(n)]),
        "tao_weight": draw.choice([0, 971718665099567868, (1 << 64) - 1]),
    }
    return {"params": params, "steps": [{"input": _odd_step(draw, n, p)} for p in range(3)]}


def _odd_step(draw: random.Random, n: int, place: int) -> Json:
    few, unit = draw.random() < 0.3, draw.choice([4, 4, 15])
    given: Json = {
        "n": n,
        "block": 1000 + 360 * place,
        "emission": draw.choice([0, 10**9, (1 << 64) - 1]),
        "tempo": draw.choice([99, 360]),
        "activity_cutoff": draw.choice([400, 5000, 5000]),
        "last_step_block": draw.choice([0, 640 + 360 * place]),
        "last_update": [
            _seldom(draw, 900 + 360 * place, 900)
            for _ in range(draw.choice([n, n, n, n + 2, n - 1, 0]))
        ],
        "registered": [_seldom(draw, 0, 1500) for _ in range(n)],
        "alpha": [draw.choice([0, 1000, 1000, draw.randrange(10**unit)]) for _ in range(n)],
    }
    if draw.random() < 0.3:
        given["tao"] = [draw.choice([0, draw.randrange(10**unit)]) for _ in range(n)]
    if draw.random() < 0.3:
        given["commit_blocks"] = [draw.choice([None, 0, draw.randrange(1000)]) for _ in range(n)]
    if not place or draw.random() < 0.5:
        given["weights"] = odd_rows(draw, n, few=few)
    if not place or draw.random() < 0.2:
        given["bonds"] = odd_rows(draw, n, few=few)
        many = draw.choice([0, 1, n, n, n, n])
        given["permits"] = [draw.random() < 0.7 for _ in range(min(many, n))]
    return given


def _seldom(draw: random.Random, usual: int, below: int) -> int:
    """Mostly the usual number, or any below a limit."""
    return usual if draw.random() < 0.8 else draw.randrange(below)


def odd_rows(draw: random.Random, n: int, *, few: bool) -> Rows:
    """Rows in any order, some empty, of a few values that tie or of any."""

    def value() -> int:
        return draw.choice(_U16) if few else draw.randrange(65536)

    return [
        [[uid, value()] for uid in draw.sample(range(n), draw.choice([0, n // 2, n, n]))]
        for _ in range(n)
    ]


def large_net(validators: int, miners: int, *, liquid: bool) -> Json:
    """A case of one step in which every validator weighs every miner, and has bonds in all."""
    draw = random.Random(1)
    n = validators + miners
    quality = [draw.randint(100, 65535) for _ in range(miners)]

    def row(noise: int) -> list[list[int]]:
        return [
            [validators + j, max(0, min(65535, q + draw.randint(-noise, noise)))]
            for j, q in enumerate(quality)
        ]

    given = {
        "n": n,
        "block": 10_000,
        "emission": 10**12,
        "last_update": [9_900] * n,
        "registered": [0] * n,
        "alpha": [draw.randint(10**12, 10**15) for _ in range(validators)] + [0] * miners,
        "permits": [True] * validators + [False] * miners,
        "weights": [row(6000) for _ in range(validators)] + [[] for _ in range(miners)],
        "bonds": [row(20000) for _ in range(validators)] + [[] for _ in range(miners)],
    }
    params = {"yuma3": liquid, "liquid_alpha": liquid}
    return {"params": params, "steps": [{"input": given}]}
