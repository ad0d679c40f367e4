"""Mistakes that an implementer could make, each planted in a copy of the JavaScript.

A mutant is the text that is replaced, which stands once in its file, and what stands there in its
place. `SURVIVORS` are those that no vector can tell from the right program, with the reason.
"""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One mistake."""

    file: str
    old: str
    new: str
    reason: str = ""


def _all(file: str, *changes: tuple[str, str]) -> Iterator[Mutant]:
    return (Mutant(file, old, new) for old, new in changes)


INTERPRETER = tuple(
    _all(
        "interpreter.js",
        # canonical form and digests
        ("Object.keys(value).sort().map(member)", "Object.keys(value).map(member)"),
        ('op === "label" ? below[0] : sha256', "sha256"),
        # rounding
        ("twice > d || (twice === d && quotient % 2n !== 0n)", "twice >= d"),
        ("twice > d || (twice === d && quotient % 2n !== 0n)", "twice > d"),
        ("twice === d && quotient % 2n !== 0n", "twice === d && quotient % 2n === 0n"),
        ("if (n % d < 0n) quotient -= 1n;", ""),
        ("Math.floor(x * 1e9)", "Math.floor(x * 1e6) * 1e3"),
        ("rest === 0.5 && floor % 2 !== 0", "rest === 0.5"),
        ("rest > 0.5 || (rest === 0.5 && floor % 2 !== 0)", "rest > 0.5"),
        ("rest > 0.5 || (rest === 0.5 && floor % 2 !== 0) ? 1n : 0n", "0n"),
        ('padStart(10, "0")', 'padStart(9, "0")'),
        # facts
        ("filter(([, inner]) => inner !== null)", "filter(() => true)"),
        ("member(value, field) === wanted", "member(value, field)?.toLowerCase() === wanted"),
        ("if (field) found = found.filter((value) => member(value, field) === wanted);", ""),
        ("many: found.filter((value) => value !== undefined)", "many: found"),
        ("new Set(items(record, path).map(canonical))", "new Set(items(record, path))"),
        ("BigInt(distinct(record, path).size)", "BigInt(items(record, path).length)"),
        ("filter((item) => others.has(item)).length", "filter((item) => !others.has(item)).length"),
        ("text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())", "text.toLowerCase()"),
        ("text.replace(/[A-Z]/g, (letter) => letter.toLowerCase())", "text"),
        ('"us").test(text)', '"u").test(text)'),
        ("`^(?:${plain})$`", "`(?:${plain})`"),
        (
            "flag: (record, path) => truth(read(record, path).one === true)",
            "flag: (record, path) => truth(read(record, path).one !== undefined)",
        ),
        (
            "given: (record, path) => truth(read(record, path).one !== undefined)",
            "given: (record, path) => truth(read(record, path).one)",
        ),
        (
            "const over = BigInt(value) - BigInt((field ? member(entry, field) : entry) ?? 0);",
            "const over = BigInt(value);",
        ),
        ("return over > 0n ? sum + over : sum;", "return sum + over;"),
        ("ignoreCase ? folded(x) === folded(y) : x === y", "folded(x) === folded(y)"),
        ("x !== undefined && y !== undefined && same", "same"),
        (
            (
                "total: (record, path) => numbers(record, path).reduce((sum, value) => sum + "
                "value, 0n)"
            ),
            "total: (record, path) => BigInt(numbers(record, path).length)",
        ),
        # trees
        (
            "sub: (x, y) => fraction(x.n * y.d - y.n * x.d, x.d * y.d)",
            "sub: (x, y) => fraction(y.n * x.d - x.n * y.d, x.d * y.d)",
        ),
        ("min: (x, y) => (compare(y, x) < 0n ? y : x)", "min: (x, y) => x"),
        ("max: (x, y) => (compare(y, x) > 0n ? y : x)", "max: (x, y) => x"),
        (
            "lt: (x, y) => fraction(truth(compare(x, y) < 0n))",
            "lt: (x, y) => fraction(truth(compare(x, y) <= 0n))",
        ),
        (
            "le: (x, y) => fraction(truth(compare(x, y) <= 0n))",
            "le: (x, y) => fraction(truth(compare(x, y) < 0n))",
        ),
        ("fraction(abs(value(args[0]).n), value(args[0]).d)", "value(args[0])"),
        ("truth(holds(args[0]) && holds(args[1]))", "truth(holds(args[0]))"),
        ("truth(!holds(args[0]))", "truth(holds(args[0]))"),
        ("value(arm < 0 ? args.at(-1) : args[arm + 1])", "value(args.at(-1))"),
        # requirements
        ("if (missed && readsAnswer(rules, tree)) continue;", ""),
        ("if (missed && readsAnswer(rules, tree)) continue;", "if (missed) continue;"),
        (".n === 0n) return code;", ".n === 0n) return name;"),
        # means, gates, tiers, factors, emission
        ("const kept = exact.filter(([, weight]) => weight !== 0n);", "const kept = exact;"),
        ("(2n * middle - 1n) ** total < power", "(2n * middle) ** total < power"),
        ("(2n * middle - 1n) ** total < power", "(2n * middle + 1n) ** total < power"),
        (
            "axes[gate.axis] < nanoOfDecimal(gate.below)",
            "axes[gate.axis] <= nanoOfDecimal(gate.below)",
        ),
        ("axes[gate.axis] < nanoOfDecimal(gate.below)", "false"),
        ("quality >= thresholds[from]", "quality > thresholds[from]"),
        ("levels.findLast(reached)", "levels.find(reached)"),
        ("if (types && !types.includes(record.skill_type)) found[name] = NANO;\n    else if", "if"),
        ("published[name] = value ?? NANO", "published[name] = value ?? 0n"),
        (
            (
                "found[name] = publish(evaluate(tree, record, { base_weight: baseWeight }, "
                "parameters));"
            ),
            "found[name] = publish(evaluate(tree, record, { base_weight: NANO }, parameters));",
        ),
        (
            "tree, record, found, parameters));\n  };",
            'tree, record, found, { ...parameters, budget_abort_enabled: "0" }));\n  };',
        ),
        # rows
        (
            "Object.keys(axes).sort().map((name) => [name, nanoText(axes[name])])",
            "Object.keys(axes).map((name) => [name, nanoText(axes[name])])",
        ),
        ("values.emission === undefined ? null : text(nano)", "text(nano ?? 0n)"),
        (
            "(nano === undefined || nano === null ? null : nanoText(nano))",
            "(nano ? nanoText(nano) : null)",
        ),
        (
            "const values = missed ? {} : score",
            'const values = record.events?.includes("missed_deadline") ? {} : score',
        ),
    )
)
STATE = tuple(
    _all(
        "state.js",
        # records and events
        ("if (part?.[name] !== undefined && isEmpty(part[name])) delete part[name];", ""),
        ("consensus >= nano(band.at_least)", "consensus > nano(band.at_least)"),
        ("consensus < nano(band.below)", "consensus <= nano(band.below)"),
        ("(missed ? [] : arisen(rules, record, values))", "arisen(rules, record, values)"),
        ("events: events.sort(ascending)", "events"),
        ("rules.skill_types[record.skill_type].facts).sort()", "rules.facts).sort()"),
        ("values.writeBigInt64BE", "values.writeBigInt64LE"),
        ('Buffer.from(sha256(names.join("")), "hex"), values', 'sha256(names.join("")), values'),
        ("keepsFacts && values.quality !== undefined", "keepsFacts"),
        ("const events = [...own,", "const events = [...new Set(own),"),
        (
            "if (values.emission !== undefined) found.emission",
            "if (values.emission) found.emission",
        ),
        (
            "[...lines].sort(ascending).map((line) => `${line}\\n`)",
            "[...lines].sort().map((line) => `${line}\\n`)",
        ),
        ("[...lines].sort(ascending).map((line) => `${line}\\n`)", "[...lines].sort(ascending)"),
        ("canonical({ body, kind, seq: place + 1 })", "canonical({ body, kind, seq: place })"),
        ('Buffer.from(hash, "hex")', "hash"),
        # reputations
        ("const listed = events.filter(", "const listed = [...new Set(events)].filter("),
        (
            "listed.length === 0 || listed.some((event) => event.in_mean !== false)",
            "listed.some((event) => event.in_mean !== false)",
        ),
        (
            "listed.some((event) => event.in_mean !== false)",
            "listed.every((event) => event.in_mean !== false)",
        ),
        ('damping.mode === "replace" ? decimal(damping.keep) : fraction(1n)', "fraction(1n)"),
        ("moved < low ? low : moved > high ? high : moved", "moved > high ? high : moved"),
        ("moved < low ? low : moved > high ? high : moved", "moved < low ? low : moved"),
        (
            (
                '.mean === "validators" ? lists.map((list) => over(total(list), list.length)) '
                ": lists.flat()"
            ),
            ".mean ? lists.flat() : []",
        ),
        (
            "JSON.stringify([validator, hotkey, type, task, round, epoch])",
            "JSON.stringify([hotkey, type, task, round, epoch])",
        ),
        (
            "known.names.push(...names);",
            "known.names = known.names.length ? known.names : [...names];",
        ),
        (
            "reputationOf(rules, pinned[epoch], hotkey, type), names)",
            "reputationOf(rules, state, hotkey, type), names)",
        ),
        (
            "const before = reputationOf(rules, state, hotkey, type);",
            "const before = reputationOf(rules, pinned[1], hotkey, type);",
        ),
        # thresholds
        ("sorted[half - 1] + sorted[half], 2n", "sorted[half] + sorted[half], 2n"),
        ("const half = sorted.length >> 1;", "const half = (sorted.length - 1) >> 1;"),
        ("counted.length === 0 ? old : median", "counted.length === 0 ? 0n : median"),
        (
            "events.filter(({ role }) => baseline?.roles.includes(role))",
            'events.filter(({ role }) => role === "primary")',
        ),
        (
            "let results = events.filter(({ role }) => tracking.roles.includes(role))",
            "let results = events",
        ),
        ("if (tracking.per_miner) {", "if (false) {"),
        (".slice(0, tracking.best)", ""),
        ("best.length >= tracking.minimum", "best.length > tracking.minimum"),
        (
            "times(decimal(tracking.new), middle(best))",
            "times(decimal(tracking.new), fraction(median(best)))",
        ),
        ("return next > floor ? next : floor;", "return next;"),
        (
            "portable.thresholdsOf(rules, levels)[name]",
            (
                "portable.thresholdsOf(rules, { ...levels, baseline: "
                "nano(rules.document.skill_types.mcp_server.baseline) })[name]"
            ),
        ),
        ("event.skill_type === type && event.quality !== undefined", "event.quality !== undefined"),
        # groups
        ("bytes.writeBigUInt64BE(BigInt(number))", "bytes.writeBigUInt64LE(BigInt(number))"),
        ("eightBytes(Buffer.byteLength(text))", "eightBytes(text.length)"),
        ("flags >= reputation.collusion.eject_at", "flags > reputation.collusion.eject_at"),
        ("nano(each.reputation) >= limit", "nano(each.reputation) > limit"),
        (
            'groups.ties === "hotkey" ? Buffer.from(hotkey).toString("hex")',
            'groups.ties ? Buffer.from(hotkey).toString("hex")',
        ),
        ("streak >= groups.rotation.auditor_rounds", "streak > groups.rotation.auditor_rounds"),
        (
            "[...primaries.slice(0, primaries.length - due.length), ...due]",
            "[...due, ...primaries.slice(0, primaries.length - due.length)]",
        ),
        ("below.length ? groups.auditors - 1 : groups.auditors", "groups.auditors"),
        ("groups.recovery.auditor_slot - 1, 0, below[0]", "0, 0, below[0]"),
        (
            "primaries.length + auditors.length >= groups.consensus",
            "primaries.length >= groups.consensus",
        ),
        # round scores, windows, weights
        ('!missed || missing === "zero"', "!missed"),
        ('!missed || missing === "zero"', "true"),
        ("(record.missed ? 0n : record.emission)", "record.emission"),
        ('tasks === "mean" && task !== undefined', "false"),
        ('tasks === "mean" && task !== undefined', "task !== undefined"),
        ("product(record, above)", "product(record, below)"),
        ("product(record, below), BigInt", "product(record, above), BigInt"),
        ("if (divisor.n === 0n) return nano(empty);", "if (divisor.n === 0n) return NANO;"),
        ("means.slice(-last)", "means.slice(0, last)"),
        ("fraction(sum(scores), BigInt(scores.length))", "fraction(scores[0])"),
        ("share.n > 0n).length", "share.n >= 0n).length"),
        ("compare(share, equal) < 0n ? equal : share", "share"),
        ("compare(share, limit) > 0n", "compare(share, limit) > 0n && full.size === 0"),
        ("halfEven(weight * 65535n, largest)", "weight * 65535n / largest"),
        ("halfEven(weight * 65535n, largest)", "(2n * weight * 65535n + largest) / (2n * largest)"),
        (".filter(([, weight]) => weight > 0)", ""),
        (".sort(([x], [y]) => x - y)", ""),
    )
)
SURVIVORS = (
    Mutant(
        "interpreter.js",
        "terms.some(([name]) => axes[name] === 0n)",
        "false",
        "a product with a zero is 0, whose root is found to be 0 too, only later",
    ),
    Mutant(
        "state.js",
        "const sorted = [...values].sort(descending);",
        "const sorted = [...values].sort(descending).reverse();",
        "the middle of an ascending and of a descending list is the same",
    ),
)
