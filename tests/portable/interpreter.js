"use strict";
// Scores records from what `tallystick rules show RULES --json` prints, and from nothing else of
// Tallystick. docs/canonical.md and docs/formulas.md say what is done here; this file shows that
// they say enough. Only what Node brings is used: BigInt, JSON and SHA-256.

const { createHash } = require("node:crypto");
const real = require("./real.js");
const NANO = 1_000_000_000n;

// ------------------------------------------------------------------ canonical form and digests
// RFC 8785 builds on how ECMAScript writes numbers and text, and sorts keys by UTF-16 code units.
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const member = (key) => `${JSON.stringify(key)}:${canonical(value[key])}`;
  return `{${Object.keys(value).sort().map(member).join(",")}}`;
}

const sha256 = (...parts) =>
  parts.reduce((hash, part) => hash.update(part), createHash("sha256")).digest("hex");
const digest = (value) => `sha256:${sha256(canonical(value))}`;

// The digest of a tree; a label has that of what it labels.
function treeDigest([op, data, args]) {
  const below = args.map(treeDigest);
  return op === "label" ? below[0] : sha256(canonical([op, data, below]));
}

// ------------------------------------------------------------------------------------- numbers
const abs = (n) => (n < 0n ? -n : n);
const gcd = (a, b) => (b === 0n ? a : gcd(b, a % b));

// An exact fraction, its denominator above 0.
const fraction = (n, d = 1n) => (d < 0n ? { n: -n, d: -d } : { n, d });
const compare = (x, y) => x.n * y.d - y.n * x.d;

// The whole number nearest to n / d; of two that are equally near, the even one.
function halfEven(n, d) {
  let quotient = n / d;
  if (n % d < 0n) quotient -= 1n;
  const twice = 2n * (n - quotient * d);
  return twice > d || (twice === d && quotient % 2n !== 0n) ? quotient + 1n : quotient;
}

const publish = (x) => (real.isReal(x) ? real.nearest(x, NANO) : halfEven(x.n * NANO, x.d));

// Decimal text of a rule set, exact.
function decimal(text) {
  const [whole, places = ""] = text.split(".");
  return fraction(BigInt(whole + places), 10n ** BigInt(places.length));
}

const nanoOfDecimal = (text) => publish(decimal(text));
// A JSON number is a double: multiplied as doubles are, then rounded half-even.
function nanoOfDouble(x) {
  const floor = Math.floor(x * 1e9);
  const rest = x * 1e9 - floor;
  return BigInt(floor) + (rest > 0.5 || (rest === 0.5 && floor % 2 !== 0) ? 1n : 0n);
}

const nanoText = (nano) =>
  (nano < 0n ? "-" : "") + abs(nano).toString().padStart(10, "0").replace(/(?=.{9}$)/, ".");

// --------------------------------------------------------------------------------------- facts
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

// What is null is as if it were left out.
function withoutNulls(value) {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutNulls(inner)]));
}

// Own members alone: a step may be called "constructor".
const member = (value, name) =>
  isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;

// What a path leads to: one value, or `many`, those that a filter, [] or * takes.
function read(record, path) {
  let found = [record];
  let many = false;
  for (const step of path.split(".")) {
    const [, name, each, field, wanted] = /^(\w+|\*)(?:(\[\])|\[(\w+)=([^\]]+)\])?$/.exec(step);
    if (name === "*") found = found.flatMap((value) => (isObject(value) ? Object.values(value) : []));
    else found = found.map((value) => member(value, name));
    if (each || field) found = found.flatMap((value) => value ?? []);
    if (field) found = found.filter((value) => member(value, field) === wanted);
    many ||= name === "*" || each !== undefined || field !== undefined;
  }
  return many ? { many: found.filter((value) => value !== undefined) } : { one: found[0] };
}

const items = (record, path) => read(record, path).many ?? read(record, path).one ?? [];

// The whole numbers of a list, a map or a projection; a number that stands alone is its own sum.
function numbers(record, path) {
  const { one, many } = read(record, path);
  const found = many ?? (isObject(one) ? Object.values(one) : Array.isArray(one) ? one : [one]);
  return found.filter((value) => value !== undefined).map(BigInt);
}

const distinct = (record, path) => new Set(items(record, path).map(canonical));
const folded = (text) =>
  typeof text === "string" ? text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()) : text;

// In the dialect of patterns a dot stands in (?s:…) alone, where it is any character.
function fits(text, pattern) {
  const plain = pattern.replace(/\\.|\(\?s:/gs, (found) => (found === "(?s:" ? "(?:" : found));
  return new RegExp(`^(?:${plain})$`, "us").test(text);
}

const truth = (holds) => BigInt(Boolean(holds));
const extreme = (values, [empty], better) =>
  values.length ? values.reduce((x, y) => (better(y, x) ? y : x)) : BigInt(empty);

function numberAt(record, path, convert, missing) {
  const { one } = read(record, path);
  return typeof one === "number" ? convert(one) : BigInt(missing);
}

const itemFields = ([op, data, args]) => (op === "item" ? [data[0]] : args.flatMap(itemFields));

// The integer of a fact, by its reader.
const READERS = {
  number: (record, path, [missing]) => numberAt(record, path, nanoOfDouble, missing),
  integer: (record, path, [missing]) => numberAt(record, path, BigInt, missing),
  flag: (record, path) => truth(read(record, path).one === true),
  given: (record, path) => truth(read(record, path).one !== undefined),
  itemised: (record, path) => truth(isObject(read(record, path).one)),
  choice: (record, path, options) => BigInt(options.indexOf(read(record, path).one)),
  count: (record, path) => BigInt(items(record, path).length),
  distinct: (record, path) => BigInt(distinct(record, path).size),
  overlap: (record, path, [other]) => {
    const others = distinct(record, other);
    return BigInt([...distinct(record, path)].filter((item) => others.has(item)).length);
  },
  total: (record, path) => numbers(record, path).reduce((sum, value) => sum + value, 0n),
  largest: (record, path, empty) => extreme(numbers(record, path), empty, (x, y) => x > y),
  smallest: (record, path, empty) => extreme(numbers(record, path), empty, (x, y) => x < y),
  excess: (record, path, [allowance]) => {
    const [base, field] = allowance.split(/\.\*\.?/);
    const { one } = read(record, path);
    const allowed = read(record, base).one;
    if (!isObject(one)) return 0n;
    return Object.entries(one).reduce((sum, [key, value]) => {
      const entry = member(allowed, key);
      const over = BigInt(value) - BigInt((field ? member(entry, field) : entry) ?? 0);
      return over > 0n ? sum + over : sum;
    }, 0n);
  },
  // An item that lacks a field of the expression adds nothing.
  summed_over: (record, path, [summand]) => {
    const fields = itemFields(summand);
    const has = (item) => fields.every((field) => !field || member(item, field) !== undefined);
    const values = items(record, path).filter(has).map((item) => evaluate(summand, record, { item }, {}));
    return publish(values.reduce((x, y) => BINARY.add(x, y), fraction(0n)));
  },
  equal: (record, path, [other, ignoreCase]) => {
    const [x, y] = [read(record, path).one, read(record, other).one];
    const same = ignoreCase ? folded(x) === folded(y) : x === y;
    return truth(x !== undefined && y !== undefined && same);
  },
  matches: (record, path, [pattern]) => {
    const { one } = read(record, path);
    return truth(typeof one === "string" && fits(one, pattern));
  },
};

// ------------------------------------------------------------------------------------ formulas
const BINARY = {
  add: (x, y) => fraction(x.n * y.d + y.n * x.d, x.d * y.d),
  sub: (x, y) => fraction(x.n * y.d - y.n * x.d, x.d * y.d),
  mul: (x, y) => fraction(x.n * y.n, x.d * y.d),
  div: (x, y) => fraction(x.n * y.d, x.d * y.n),
  min: (x, y) => (compare(y, x) < 0n ? y : x),
  max: (x, y) => (compare(y, x) > 0n ? y : x),
  lt: (x, y) => fraction(truth(compare(x, y) < 0n)),
  le: (x, y) => fraction(truth(compare(x, y) <= 0n)),
  eq: (x, y) => fraction(truth(compare(x, y) === 0n)),
};

// The exact value of a tree. `published` has nano by name, `parameters` decimal text by name.
function evaluate([op, data, args], record, published, parameters) {
  const value = (arg) => evaluate(arg, record, published, parameters);
  const holds = (arg) => value(arg).n !== 0n;
  if (op in BINARY) return real.binary(op, value(args[0]), value(args[1]), BINARY);
  if (real.takes(op)) return real.of(op, data, ...args.map(value));
  switch (op) {
    case "const":
      return fraction(BigInt(data[0]), BigInt(data[1]));
    case "fact":
      return fraction(READERS[data[0]](record, data[1], data[2]), BigInt(data[3]));
    case "item":
      return fraction(nanoOfDouble(data[0] ? published.item[data[0]] : published.item), NANO);
    case "param":
      return decimal(parameters[data[0]]);
    case "published":
      return fraction(published[data[0]], NANO);
    case "label":
    case "rank":
      return value(args[0]);
    case "abs":
      return real.positive(value(args[0])) ?? fraction(abs(value(args[0]).n), value(args[0]).d);
    case "and":
      return fraction(truth(holds(args[0]) && holds(args[1])));
    case "or":
      return fraction(truth(holds(args[0]) || holds(args[1])));
    case "not":
      return fraction(truth(!holds(args[0])));
    case "cases": {
      const arm = args.findIndex((arg, i) => i % 2 === 0 && i < args.length - 1 && holds(arg));
      return value(arm < 0 ? args.at(-1) : args[arm + 1]);
    }
    default:
      throw new Error(`unknown operator ${op}`);
  }
}

// ----------------------------------------------------------------------------------- rule sets
// What `rules show --json` printed, after every digest in it was computed again.
function load(shown) {
  const expect = (found, wanted, what) => {
    if (found !== wanted) throw new Error(`${what}: found ${found}, expected ${wanted}`);
  };
  const covered = shown.canonical;
  expect(digest(covered), shown.digest, "rule set");
  for (const [name, wanted] of Object.entries(covered.formulas)) {
    const { tree, applies } = shown.formulas[name];
    const found = treeDigest(applies ? ["applies", [], [applies, tree]] : tree);
    expect(`sha256:${found}`, wanted, name);
  }
  for (const named of [covered.requirements, ...Object.values(covered.skill_types)]) {
    for (const [name, wanted] of Object.entries(named)) {
      expect(`sha256:${treeDigest(shown.requirements[name].tree)}`, wanted, name);
    }
  }
  return { ...shown, document: covered.document };
}

// Whether a tree has a fact that reads what a missed deadline may lack.
const readsAnswer = (rules, tree) =>
  tree[0] === "fact"
    ? rules.facts[treeDigest(tree)].paths.some((path) => /^(submission|checks)\b/.test(path))
    : tree[2].some((arg) => readsAnswer(rules, arg));

// The code of the first requirement that a record does not meet.
function unmet(rules, record, missed) {
  for (const name of rules.skill_types[record.skill_type].requirements) {
    const { tree, code } = rules.requirements[name];
    if (missed && readsAnswer(rules, tree)) continue;
    if (evaluate(tree, record, {}, {}).n === 0n) return code;
  }
  return null;
}

// ------------------------------------------------------------------------------------- scoring
const publishedNames = ([op, data, args]) =>
  op === "published" ? [data[0]] : args.flatMap(publishedNames);

// Publishes named formulas with their settings, each after those that it reads.
function publishAll(rules, settings, names, found, record) {
  const visit = (name) => {
    if (name in found) return;
    const { formula, ...parameters } = settings[name];
    publishedNames(rules.formulas[formula].tree).forEach(visit);
    found[name] = publish(evaluate(rules.formulas[formula].tree, record, found, parameters));
  };
  names.forEach(visit);
  return found;
}

// Weights as whole numbers over one denominator, in lowest terms, without those that are 0.
function wholeWeights(weights) {
  const exact = Object.entries(weights).map(([name, text]) => [name, publish(decimal(text))]);
  const kept = exact.filter(([, weight]) => weight !== 0n);
  const shared = kept.reduce((found, [, weight]) => gcd(found, weight), NANO);
  return { terms: kept.map(([name, weight]) => [name, weight / shared]), total: NANO / shared };
}

function arithmeticMean(axes, weights) {
  const { terms, total } = wholeWeights(weights);
  return halfEven(terms.reduce((sum, [name, weight]) => sum + axes[name] * weight, 0n), total);
}

// The largest k with (2k − 1)^D < 2^D · Π n^a: there are no ties.
function geometricMean(axes, weights) {
  const { terms, total } = wholeWeights(weights);
  if (terms.some(([name]) => axes[name] === 0n)) return 0n;
  const power = terms.reduce((product, [name, weight]) => product * axes[name] ** weight, 1n) * 2n ** total;
  let [low, high] = [0n, NANO + 1n];
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if ((2n * middle - 1n) ** total < power) low = middle;
    else high = middle;
  }
  return low;
}

function qualityOf(rules, settings, axes, record) {
  const { composite, weights, parameters = {}, gates = [] } = settings;
  let quality = null; // of a type without a composite
  if (composite === "geometric") quality = geometricMean(axes, weights);
  else if (composite === "arithmetic") quality = arithmeticMean(axes, weights);
  else if (composite) quality = publish(evaluate(rules.formulas[composite].tree, record, axes, parameters));
  for (const gate of gates) {
    if (axes[gate.axis] < nanoOfDecimal(gate.below)) quality = nanoOfDecimal(gate.composite);
  }
  return quality;
}

// Every threshold of a type from the tracked ones; a given one replaces its formula.
function thresholdsOf(rules, given) {
  const { thresholds } = rules.document.tiers;
  return publishAll(rules, thresholds, Object.keys(thresholds), { ...given }, {});
}

// The thresholds without a state: every one without a formula is the seed of the type.
function seeds(rules, skillType) {
  const seed = nanoOfDecimal(rules.document.skill_types[skillType].baseline);
  const tracked = Object.entries(rules.document.tiers.thresholds).filter(([, each]) => !each.formula);
  return thresholdsOf(rules, Object.fromEntries(tracked.map(([name]) => [name, seed])));
}

function tierOf(rules, quality, thresholds) {
  const reached = ({ from }) => from === undefined || quality >= thresholds[from];
  return rules.document.tiers.levels.findLast(reached);
}

// The factors of a type: null where one does not apply, which counts as 1.
function factorsOf(rules, record, baseWeight) {
  const found = {};
  for (const [name, factor] of Object.entries(rules.document.emission.factors ?? {})) {
    const { formula, skill_types: types, ...parameters } = factor;
    const { tree, applies } = rules.formulas[formula];
    if (types && !types.includes(record.skill_type)) found[name] = NANO;
    else if (applies && evaluate(applies, record, {}, {}).n === 0n) found[name] = null;
    else found[name] = publish(evaluate(tree, record, { base_weight: baseWeight }, parameters));
  }
  return found;
}

// The factors that every row has: those of the types in the order of their names, each once.
const shownFactors = ({ skill_types: types }) => [
  ...new Set(Object.keys(types).sort().flatMap((name) => types[name].factors)),
];

// The values of a record, in nano; null where one does not apply.
function score(rules, record, thresholds) {
  const settings = rules.document.skill_types[record.skill_type];
  const names = new Set([...Object.keys(settings.weights ?? {}), ...(settings.axes ?? [])]);
  const axes = publishAll(rules, rules.document.axes, names, {}, record);
  const values = { axes, quality: qualityOf(rules, settings, axes, record), tier: null, factors: {} };
  if (settings.baseline !== undefined && rules.document.tiers) {
    const level = tierOf(rules, values.quality, thresholds ?? seeds(rules, record.skill_type));
    values.tier = level.name;
    values.tier_multiplier = nanoOfDecimal(level.multiplier);
  }
  if (settings.base_weight === undefined || !rules.document.emission) return values;
  const { formula, factors, ...parameters } = rules.document.emission;
  values.base_weight = nanoOfDecimal(settings.base_weight);
  values.factors = factorsOf(rules, record, values.base_weight);
  const published = { quality: values.quality, base_weight: values.base_weight };
  if (values.tier !== null) published.tier_multiplier = values.tier_multiplier;
  for (const [name, value] of Object.entries(values.factors)) published[name] = value ?? NANO;
  values.emission = publish(evaluate(rules.formulas[formula].tree, record, published, parameters));
  return values;
}

// A row of results, its keys in their order.
function rowOf(rules, number, record, { axes = {}, factors = {}, tier = null, ...values }) {
  const text = (nano) => (nano === undefined || nano === null ? null : nanoText(nano));
  const paid = (nano) => (values.emission === undefined ? null : text(nano));
  return {
    record: number,
    skill_type: record.skill_type,
    task_id: record.task_id,
    miner_uid: record.miner.uid,
    miner_hotkey: record.miner.hotkey,
    role: record.role,
    axes: Object.fromEntries(Object.keys(axes).sort().map((name) => [name, nanoText(axes[name])])),
    quality: text(values.quality),
    tier,
    base_weight: paid(values.base_weight),
    tier_multiplier: paid(values.tier_multiplier),
    ...Object.fromEntries(shownFactors(rules).map((name) => [name, paid(factors[name])])),
    emission: text(values.emission),
  };
}

// What a line of JSON comes to: { row, text, values }, or { error } with the code of a requirement.
function scoreLine(rules, line, number = 1, thresholds = undefined) {
  const record = withoutNulls(JSON.parse(line));
  const missed = rules.skill_types[record.skill_type].answer.some((name) => !(name in record));
  const error = unmet(rules, record, missed);
  if (error !== null) return { error };
  const values = missed ? {} : score(rules, record, thresholds);
  const row = rowOf(rules, number, record, values);
  return { row, text: JSON.stringify(row), values, record };
}

module.exports = {
  canonical, sha256, digest, fraction, compare, halfEven, publish, decimal, nanoOfDecimal, nanoOfDouble,
  nanoText, withoutNulls, evaluate, treeDigest, load, thresholdsOf, seeds, tierOf, qualityOf, scoreLine,
  arithmeticMean, geometricMean, fits, publishAll, NANO, READERS,
};
