"""Numbers alone: JSON to nano, means, medians, composites and products near a half nano."""

import json
import random
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from math import lcm

from oracle import composite, text
from oracle.composites import WEIGHTS
from oracle.decimals import NANO, fact, published

from vectors.whole.case import Json, case

_JSON_NUMBERS = (
    *("0", "-0.0", "1", "1.0", "0.1", "0.30000000000000004", "5e-10", "0.5e-9", "1.5e-9", "2.5e-9"),
    *("3.5e-9", "0.0000000005000000001", "0.1234567885", "0.1234567875", "0.7000000005", "1e-400"),
    *("123456.7890123455", "999999999.9999999995", "4503599.627370497", "9007199.254740993"),
    *("1000000000", "1e9", "12345678901234567890", "0.99999999949999999", "2.0000000005"),
)
"""Half nanos as doubles: the product of two doubles decides, not the number that was written."""

_NEAR: dict[str, tuple[tuple[int, ...], ...]] = {
    "executable_python": (
        (374_874_954, 101_089_041, 768_004_424, 25_648_507),
        (537_560_461, 731_267_421, 373_241_552, 735_005_523),
    ),
    "rag_knowledge": (
        (561_168_715, 784_362_048, 850_163_473, 163_029_051, 161_656_013),
        (664_868_351, 836_836_787, 55_533_925, 957_848_588, 180_653_331),
    ),
    "declarative": (
        (533_154_351, 663_596_293, 244_620_649, 442_352_278, 453_155_084),
        (846_659_767, 741_475_905, 729_081_430, 379_316_371, 572_226_601),
    ),
    "mcp_server": (
        (262_302_374, 702_679_807, 942_361_090, 936_208_409, 309_281_716, 751_506_422),
        (176_197_065, 349_159_086, 792_028_356, 375_409_428, 640_192_013, 211_878_028),
    ),
    "agent_composition": (
        (925_821_763, 329_884_829, 787_178_023, 634_842_719, 873_596_729),
        (324_523_130, 187_713_406, 345_641_746, 558_340_605, 173_929_649),
    ),
}
"""Axes whose composite is within 1e-15 of a half nano, found by a search."""


def cases() -> list[Json]:
    """Every case."""
    return [
        case("N01", "nano", ((number, text(fact(json.loads(number)))) for number in _JSON_NUMBERS)),
        case("N02", "geometric_mean", ((_mean(*g), text(geometric(*g))) for g in _geometric())),
        case("N03", "arithmetic_mean", ((_mean(*g), text(arithmetic(*g))) for g in _arithmetic())),
        case("N04", "median", _medians()),
        case("N05", "composite", _composites(), rule_set="skills@1.0.0", refs=["E8"]),
        case("N06", "composite", _workflows(), rule_set="workflow@1.0.0"),
        case("N07", "emission_of", _emissions(), rule_set="skills@1.0.0", note="products of terms"),
        case("N08", "thresholds", _thresholds("skills@1.0.0"), rule_set="skills@1.0.0"),
        case(
            "N09", "thresholds", _thresholds("skills@1.1.0"), rule_set="skills@1.1.0", refs=["E20"]
        ),
        case("N10", "tree", _trees(), note="parameters and published values are given"),
    ]


Given = tuple[Sequence[str], Sequence[int]]


def _mean(weights: Sequence[str], values: Sequence[int]) -> Json:
    return {"weights": list(weights), "values": [text(Fraction(v, NANO)) for v in values]}


def geometric(weights: Sequence[str], values: Sequence[int]) -> Fraction:
    """The nearest whole count to Π value^weight, by trial of whole numbers."""
    kept = [(Fraction(w), v) for w, v in zip(weights, values, strict=True) if Fraction(w)]
    bits = lcm(*(w.denominator for w, _ in kept))
    product = 2**bits
    for weight, value in kept:
        product *= value ** int(weight * bits)
    low, high = 0, 2 * NANO
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**bits <= product else (low, middle)
    return Fraction((low + 1) // 2, NANO)  # low is the floor of twice the mean


def arithmetic(weights: Sequence[str], values: Sequence[int]) -> Fraction:
    """The mean in plain fractions."""
    pairs = zip(weights, values, strict=True)
    return published(sum((Fraction(w) * Fraction(v, NANO) for w, v in pairs), Fraction(0)))


def _geometric() -> Iterator[Given]:
    for skill_type, found in _NEAR.items():
        weights = [str(Decimal(hundredths) / 100) for hundredths in WEIGHTS[skill_type].values()]
        for values in found:
            yield weights, values
    rng = random.Random(1)
    for weights in (
        ("0.5", "0.5"),
        ("0.25", "0.25", "0.15", "0.1", "0.1", "0.15"),
        ("0.333", "0.334", "0.333"),
        ("0.001", "0.999"),
        ("1",),
        ("0", "1"),
        ("0.4", "0", "0.6"),
    ):
        for _ in range(3):
            yield weights, [rng.choice([1, 7, NANO, rng.randint(1, NANO)]) for _ in weights]
        yield weights, [0, *[NANO] * (len(weights) - 1)]
        yield weights, [*[NANO] * (len(weights) - 1), 0]
    yield ("0.5", "0.5"), [1, 2]
    yield ("0.5", "0.5"), [2, 2]
    yield ("0.5", "0.5"), [NANO, NANO - 1]


def _arithmetic() -> Iterator[Given]:
    half = ("0.5", "0.5")
    for pair in ((0, 1), (1, 2), (2, 3), (NANO - 1, NANO), (0, 0)):
        yield half, list(pair)
    workflow = ("0.5", "0.25", "0.15", "0.1")
    for values in (
        (1, 0, 0, 0),
        (0, 2, 0, 0),
        (0, 0, 10, 0),
        (3, 0, 0, 0),
        (0, 0, 0, 5),
        (1, 1, 1, 1),
    ):
        yield workflow, list(values)
    yield ("0.333", "0.334", "0.333"), [500, 500, 501]
    yield ("0", "1"), [NANO, 1]


def _medians() -> Iterator[tuple[Json, Json]]:
    for values in (
        [5],
        [1, 2],
        [2, 3],
        [3, 1, 2],
        [4, 1, 3, 2],
        [7, 7, 8, 8],
        [0, NANO],
        [NANO - 1, NANO, 0, 1],
        [10, 9, 100, 11],
    ):
        ordered = sorted(values)
        both = ordered[(len(values) - 1) // 2] + ordered[len(values) // 2]
        yield [text(Fraction(v, NANO)) for v in values], text(published(Fraction(both, 2 * NANO)))


def _composites() -> Iterator[tuple[Json, Json]]:
    rng = random.Random(2)
    for skill_type, weights in WEIGHTS.items():
        if skill_type == "workflow":
            continue
        some = [rng.randint(1, NANO) for _ in weights]
        for counts in (some, [NANO] * len(weights), some[::-1]):
            yield _composite(skill_type, counts)
        for place in range(len(weights)):
            yield _composite(skill_type, [*some[:place], 1, *some[place + 1 :]])
            yield _composite(skill_type, [*some[:place], 0, *some[place + 1 :]])
        for counts in _NEAR.get(skill_type, ()):
            yield _composite(skill_type, counts)
        place = list(weights).index("evidence")
        for edge in (99_999_999, 100_000_000, 100_000_001):
            yield _composite(skill_type, [*some[:place], edge, *some[place + 1 :]])


def _composite(skill_type: str, counts: Sequence[int]) -> tuple[Json, Json]:
    names = WEIGHTS[skill_type]
    axes = {name: text(Fraction(n, NANO)) for name, n in zip(names, counts, strict=True)}
    name = "workflow@1.0.0" if skill_type == "workflow" else "skills@1.0.0"
    return {"type": skill_type, "axes": axes}, text(composite(skill_type, axes, name))


def _workflows() -> Iterator[tuple[Json, Json]]:
    for counts in ((1, 0, 0, 0), (3, 0, 0, 0), (0, 2, 0, 0), (0, 0, 10, 0), (0, 0, 0, 5)):
        yield _composite("workflow", counts)
    rng = random.Random(3)
    for _ in range(6):
        yield _composite("workflow", [rng.randint(0, NANO) for _ in range(4)])


_TERMS = "base_weight", "tier_multiplier", "early_bonus", "role_multiplier", "consensus"


def _emissions() -> Iterator[tuple[Json, Json]]:
    """Ties, and products that miss one by a part in 10⁹ of a nano."""
    for quality, *terms in (
        ("0.000000001", "0.5", "1", "1", "1", "1"),
        ("0.000000003", "0.5", "1", "1", "1", "1"),
        ("0.000000005", "0.5", "1", "1", "0.6", "1"),
        ("0.766438904", "1", "1", "1.08", "1", "0.92"),
        # consensus times quality is half a nano and 10⁻⁹ of one more, or less
        ("0.500000001", "1", "1", "1", "1", "0.000000001"),
        ("0.499999999", "1", "1", "1", "1", "0.000000001"),
        ("0.707106781", "1", "1", "1", "1", "0.707106781"),
        ("1", "2", "2", "1.15", "1", "1"),
        ("0", "2", "2", "1.15", "1", "1"),
        ("0.999999999", "1.6", "1.4", "1.15", "0.6", "0.333333333"),
        ("0.123456789", "0.7", "0.5", "1.08", "0.6", "0.987654321"),
    ):
        product = Fraction(quality)
        for term in terms:
            product *= Fraction(term)
        for bonus in ("1", "1.3125"):
            given = dict(zip(_TERMS, terms, strict=True)) | {"bootstrap_bonus": bonus}
            yield {"quality": quality, **given}, text(published(product * Fraction(bonus)))


def _thresholds(rule_set: str) -> Iterator[tuple[Json, Json]]:
    for baseline in ("0", "0.35", "0.48", "0.5", "0.666666667", "0.869565217", "0.333333333", "1"):
        base = Fraction(Decimal(baseline))
        optimised, novel = Fraction("1.15") * base, Fraction(3, 2) * base
        if rule_set != "skills@1.0.0":
            optimised = min(optimised, base + Fraction("0.15") * (1 - base))
            novel = min(novel, base + (1 - base) / 2)
        found = {"baseline": base, "optimised": published(optimised), "novel": published(novel)}
        yield baseline, {name: text(each) for name, each in found.items()}


def _trees() -> Iterator[tuple[Json, Json]]:
    """Every operator of trees; what is not reached would divide by zero."""
    one, two, none = _const(1), _const(2), _const(0)
    never = ["div", [], [one, none]]
    low, high = ["published", ["low"], []], ["param", ["high"], []]
    for tree, value in (
        (["add", [], [low, high]], "2.125"),
        (["sub", [], [low, high]], "-1.625"),
        (["mul", [], [["sub", [], [low, high]], low]], "-0.40625"),
        (["div", [], [low, ["const", ["3", "1"], []]]], "0.083333333"),
        (["div", [], [["sub", [], [none, two]], ["const", ["3", "1"], []]]], "-0.666666667"),
        (["div", [], [one, ["sub", [], [none, ["const", ["3", "1"], []]]]]], "-0.333333333"),
        (["mul", [], [["const", ["-1", "2000000000"], []], one]], "0"),
        (["mul", [], [["const", ["-3", "2000000000"], []], one]], "-0.000000002"),
        (["min", [], [low, high]], "0.25"),
        (["min", [], [high, low]], "0.25"),
        (["max", [], [low, high]], "1.875"),
        (["max", [], [high, low]], "1.875"),
        (["abs", [], [["sub", [], [low, high]]]], "1.625"),
        (["label", ["x"], [high]], "1.875"),
        (["rank", [], [two]], "2"),
        *((["lt", [], pair], str(int(pair[0] == low))) for pair in ([low, high], [high, low])),
        (["lt", [], [low, low]], "0"),
        (["le", [], [low, low]], "1"),
        (["le", [], [high, low]], "0"),
        (["eq", [], [low, ["const", ["1", "4"], []]]], "1"),
        (["eq", [], [low, high]], "0"),
        (["not", [], [["lt", [], [low, high]]]], "0"),
        (["not", [], [["lt", [], [high, low]]]], "1"),
        (["and", [], [["lt", [], [high, low]], ["lt", [], [never, one]]]], "0"),
        (["and", [], [["lt", [], [low, high]], ["lt", [], [low, one]]]], "1"),
        (["and", [], [["lt", [], [low, high]], ["lt", [], [one, low]]]], "0"),
        (["or", [], [["lt", [], [low, high]], ["lt", [], [never, one]]]], "1"),
        (["or", [], [["lt", [], [high, low]], ["lt", [], [one, low]]]], "0"),
        (["or", [], [["lt", [], [high, low]], ["lt", [], [low, one]]]], "1"),
        (["cases", [], [["lt", [], [low, high]], one, ["lt", [], [never, one]], two, never]], "1"),
        (["cases", [], [["lt", [], [high, low]], never, ["lt", [], [low, one]], two, one]], "2"),
        (["cases", [], [["lt", [], [high, low]], never, low]], "0.25"),
    ):
        given = {"tree": tree, "published": {"low": "0.250000000"}, "parameters": {"high": "1.875"}}
        yield given, text(Fraction(value))


def _const(value: int) -> Json:
    return ["const", [str(value), "1"], []]
