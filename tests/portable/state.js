"use strict";
// What a state does, from docs/canonical.md: events, reputations, thresholds, groups, round scores,
// windows, weights, and the digests of all of it. Nanos are BigInt; JSON has them as text.

const portable = require("./interpreter.js");
const { canonical, sha256, digest, fraction, compare, halfEven, publish, decimal, NANO } = portable;

const nano = (text) => publish(decimal(text));
const nanoText = portable.nanoText;
const add = (x, y) => fraction(x.n * y.d + y.n * x.d, x.d * y.d);
const times = (x, y) => fraction(x.n * y.n, x.d * y.d);
const over = (x, count) => fraction(x.n, x.d * BigInt(count));
const total = (fractions) => fractions.reduce(add, fraction(0n));
const descending = (x, y) => (x < y ? 1 : x > y ? -1 : 0);
const sum = (values) => values.reduce((found, value) => found + value, 0n);

// UTF-8 sorts as code points do, and as UTF-16 does not.
const ascending = (x, y) => Buffer.compare(Buffer.from(x), Buffer.from(y));

// ------------------------------------------------------------------------- records and events

function isEmpty(value) {
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
}

function recordDigest(rules, line) {
  const record = portable.withoutNulls(JSON.parse(line));
  for (const path of rules.skill_types[record.skill_type].empties) {
    const steps = path.split(".");
    const name = steps.pop();
    const part = steps.reduce((found, step) => found?.[step], record);
    if (part?.[name] !== undefined && isEmpty(part[name])) delete part[name];
  }
  return digest(record);
}

const factsIn = (tree) => (tree[0] === "fact" ? [tree] : tree[2].flatMap(factsIn));

// The digest of what a rule set reads of a record: which facts, then each as 8 bytes.
function factsDigest(rules, record) {
  const trees = [...Object.values(rules.formulas), ...Object.values(rules.requirements)].flatMap(({ tree, applies }) => [tree, ...(applies ? [applies] : [])]);
  const known = new Map(trees.flatMap(factsIn).map((fact) => [portable.treeDigest(fact), fact]));
  const names = Object.keys(rules.skill_types[record.skill_type].facts).sort();
  const values = Buffer.alloc(8 * names.length);
  const integer = (name) => portable.evaluate(known.get(name), record, {}, {}).n;
  for (const [place, name] of names.entries()) values.writeBigInt64BE(integer(name), 8 * place);
  return `sha256:${sha256(Buffer.from(sha256(names.join("")), "hex"), values)}`;
}

function consensusEvent(rules, consensus) {
  const { events = {} } = rules.document.reputation ?? {};
  const inBand = ({ consensus: band }) =>
    band !== undefined &&
    (band.at_least === undefined || consensus >= nano(band.at_least)) &&
    (band.below === undefined || consensus < nano(band.below));
  return Object.keys(events).find((name) => inBand(events[name]));
}

// The event of the consensus of a record, if it makes one; a missed deadline makes none.
function arisen(rules, record, values) {
  const consensus = values.factors?.consensus;
  const { skill_types: types } = rules.document.emission?.factors?.consensus ?? {};
  if (consensus === undefined || consensus === null) return [];
  if (types && !types.includes(record.skill_type)) return [];
  const name = consensusEvent(rules, consensus);
  return name === undefined ? [] : [name];
}

// The state event of a line, as an object.
function stateEvent(rules, line, thresholds) {
  const { record, values, error } = portable.scoreLine(rules, line, 1, thresholds);
  if (error !== undefined) return { error };
  const own = record.events ?? [];
  const missed = own.includes("missed_deadline");
  const events = [...own, ...(missed ? [] : arisen(rules, record, values))];
  const found = {
    validator: record.validator, hotkey: record.miner.hotkey, skill_type: record.skill_type,
    task_id: record.task_id, round: record.round, epoch: record.epoch, events: events.sort(ascending),
    missed, role: record.role, record: recordDigest(rules, line),
  };
  if (values.quality !== undefined) found.quality = nanoText(values.quality);
  if (values.emission !== undefined) found.emission = nanoText(values.emission);
  const keepsFacts = rules.document.claims?.facts === "digest";
  if (keepsFacts && values.quality !== undefined) found.facts = factsDigest(rules, record);
  return found;
}

const eventsDigest = (lines) => `sha256:${sha256(...[...lines].sort(ascending).map((line) => `${line}\n`))}`;

function logHash(entries) {
  return entries.reduce(
    (hash, { kind, body }, place) => sha256(Buffer.from(hash, "hex"), canonical({ body, kind, seq: place + 1 })),
    "0".repeat(64),
  );
}

// --------------------------------------------------------------------------------- reputations

// What the events of one record do: a factor, an addition, and whether the record takes part.
function effect(rules, events) {
  const table = rules.document.reputation.events;
  const listed = events.filter((name) => Object.hasOwn(table, name)).map((name) => table[name]);
  return {
    factor: listed.reduce((found, { multiply = "1" }) => times(found, decimal(multiply)), fraction(1n)),
    added: total(listed.map((event) => decimal(event.add ?? "0"))),
    takesPart: listed.length === 0 || listed.some((event) => event.in_mean !== false),
  };
}

function delta(rules, reputation, events) {
  const { factor, added } = effect(rules, events);
  const moved = add(times(fraction(reputation, NANO), factor), added);
  return add(moved, fraction(-reputation, NANO));
}

function damped(rules, reputation, mean) {
  const { damping, floor, ceiling } = rules.document.reputation;
  const keep = damping.mode === "replace" ? decimal(damping.keep) : fraction(1n);
  const moved = publish(add(times(keep, fraction(reputation, NANO)), times(decimal(damping.apply), mean)));
  const [low, high] = [nano(floor), nano(ceiling)];
  return moved < low ? low : moved > high ? high : moved;
}

// The mean of deltas, which are lists of fractions by validator.
function meanDelta(rules, byValidator) {
  const lists = Object.values(byValidator).filter((list) => list.length > 0);
  if (lists.length === 0) return null;
  const parts = rules.document.reputation.mean === "validators" ? lists.map((list) => over(total(list), list.length)) : lists.flat();
  return over(total(parts), parts.length);
}

const reputationOf = (rules, state, hotkey, type) =>
  nano(state?.miners[hotkey]?.reputation[type] ?? rules.document.reputation.initial);

function reputationsAfter(rules, state, events, pinned) {
  const records = new Map();
  for (const { validator, hotkey, skill_type: type, task_id: task, round, epoch, events: names } of events) {
    const key = JSON.stringify([validator, hotkey, type, task, round, epoch]);
    const known = records.get(key) ?? { validator, hotkey, type, epoch, names: [] };
    known.names.push(...names);
    records.set(key, known);
  }
  const deltas = new Map();
  for (const { validator, hotkey, type, epoch, names } of records.values()) {
    if (!effect(rules, names).takesPart) continue;
    const owner = JSON.stringify([hotkey, type]);
    const lists = deltas.get(owner) ?? {};
    const change = delta(rules, reputationOf(rules, pinned[epoch], hotkey, type), names);
    lists[validator] = [...(lists[validator] ?? []), change];
    deltas.set(owner, lists);
  }
  const after = structuredClone(state.miners);
  for (const [owner, lists] of deltas) {
    const [hotkey, type] = JSON.parse(owner);
    const before = reputationOf(rules, state, hotkey, type);
    after[hotkey].reputation[type] = nanoText(damped(rules, before, meanDelta(rules, lists)));
  }
  return after;
}

// ---------------------------------------------------------------------------------- thresholds

// The median as a fraction: of an even count half the sum of the two in the middle.
function middle(values) {
  const sorted = [...values].sort(descending);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? fraction(sorted[half]) : fraction(sorted[half - 1] + sorted[half], 2n);
}

const median = (values) => halfEven(middle(values).n, middle(values).d);

const trackedNames = (rules) =>
  Object.entries(rules.document.tiers?.thresholds ?? {}).filter(([, each]) => !each.formula).map(([name]) => name);

function nextBaseline(rules, type, old, events) {
  const { baseline } = rules.document.epochs;
  if (baseline?.mode === "published") return nano(rules.document.skill_types[type].baseline);
  const counted = events.filter(({ role }) => baseline?.roles.includes(role));
  return counted.length === 0 ? old : median(counted.map(({ quality }) => nano(quality)));
}

function nextThreshold(rules, name, old, levels, events) {
  const tracking = rules.document.epochs.thresholds[name];
  let results = events.filter(({ role }) => tracking.roles.includes(role)).map(({ hotkey, quality }) => [hotkey, nano(quality)]);
  if (tracking.per_miner) {
    const best = new Map();
    for (const [hotkey, quality] of results) {
      if (!best.has(hotkey) || best.get(hotkey) < quality) best.set(hotkey, quality);
    }
    results = [...best];
  }
  const best = results.map(([, quality]) => quality).sort(descending).slice(0, tracking.best);
  const floor = portable.thresholdsOf(rules, levels)[name];
  let next = old;
  if (best.length >= tracking.minimum) {
    const smoothed = add(times(decimal(tracking.new), middle(best)), times(decimal(tracking.old), fraction(old)));
    next = halfEven(smoothed.n, smoothed.d);
  }
  return next > floor ? next : floor;
}

function thresholdsAfter(rules, state, events) {
  const found = {};
  for (const [type, levels] of Object.entries(state.thresholds)) {
    const scored = events.filter((event) => event.skill_type === type && event.quality !== undefined && !event.missed);
    const baselines = trackedNames(rules).map((name) => [name, nextBaseline(rules, type, nano(levels[name]), scored)]);
    const next = Object.fromEntries(baselines);
    for (const name of Object.keys(rules.document.epochs.thresholds ?? {})) {
      next[name] = nextThreshold(rules, name, nano(levels[name]), Object.fromEntries(baselines), scored);
    }
    found[type] = Object.fromEntries(Object.entries(next).map(([name, value]) => [name, nanoText(value)]));
  }
  return found;
}

// The state as the next epoch begins.
function closeEpoch(rules, state, events, pinned) {
  return {
    epoch: state.epoch + 1,
    miners: rules.document.reputation ? reputationsAfter(rules, state, events, pinned) : state.miners,
    thresholds: rules.document.epochs ? thresholdsAfter(rules, state, events) : state.thresholds,
  };
}

const snapshotDigest = (rules, state, previous, evidence) =>
  digest({ format: 1, rule_set: rules.digest, state, previous, evidence });

const stateDigest = (snapshot, state, evidence) => digest({ snapshot, state, evidence });

// -------------------------------------------------------------------------------------- groups

function eightBytes(number) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(number));
  return bytes;
}

function ticket(hotkey, type, round, seed) {
  const framed = [seed, type].flatMap((text) => [eightBytes(Buffer.byteLength(text)), text]);
  return sha256("tallystick/auditor-draw/1", eightBytes(round), ...framed, hotkey);
}

// A group of candidates {hotkey, reputation, flags, declared, slot, streak}.
function selectGroup(rules, candidates, type, round, seed) {
  const { groups, reputation } = rules.document;
  const limit = nano(groups.minimum_reputation);
  const eligible = candidates.filter(
    ({ flags = 0, declared = true, slot = true }) => declared && slot && !(reputation.collusion && flags >= reputation.collusion.eject_at),
  );
  const tie = ({ hotkey }) => (groups.ties === "hotkey" ? Buffer.from(hotkey).toString("hex") : sha256(eightBytes(round), hotkey));
  const pool = eligible
    .filter((each) => nano(each.reputation) >= limit)
    .sort((x, y) => descending(nano(x.reputation), nano(y.reputation)) || ascending(tie(x), tie(y)));
  let primaries = pool.slice(0, groups.primaries);
  const due = groups.rotation.enabled
    ? pool.slice(groups.primaries).filter(({ streak = 0 }) => streak >= groups.rotation.auditor_rounds).slice(0, groups.primaries)
    : [];
  primaries = [...primaries.slice(0, primaries.length - due.length), ...due];
  const rest = pool.filter((each) => !primaries.includes(each));
  const drawn = (from) => from.map(({ hotkey }) => hotkey).sort((x, y) => ascending(ticket(x, type, round, seed), ticket(y, type, round, seed)));
  const below = groups.recovery.enabled ? drawn(eligible.filter((each) => nano(each.reputation) < limit)) : [];
  const auditors = drawn(rest).slice(0, below.length ? groups.auditors - 1 : groups.auditors);
  if (below.length) auditors.splice(groups.recovery.auditor_slot - 1, 0, below[0]);
  const consensus = primaries.length + auditors.length >= groups.consensus.minimum_members;
  const names = (miners) => miners.map(({ hotkey }) => hotkey);
  return { primaries: names(primaries), auditor_pool: names(rest), auditors, consensus };
}

// -------------------------------------------------------------------- round scores and weights

// The step that collects of a round alone.
const roundStep = ({ allocation }) => allocation.steps.find(({ records }) => records === "round");

// Records are {emission, base_weight, reputation, missed, task}: numbers in nano, but for the last two. With
// tasks = "mean" a task counts as the mean of its records.
function roundScore(rules, records) {
  const { times: above, over: below, missed: missing, empty = "0", tasks } = roundStep(rules.document);
  const counted = records.filter(({ missed }) => !missed || missing === "zero");
  const same = ({ task }) => (tasks === "mean" && task !== undefined ? counted.filter((each) => each.task === task).length : 1);
  const product = (record, factors) => factors.reduce((found, factor) => found * record[factor], 1n);
  const paid = (record) => (record.missed ? 0n : record.emission) * product(record, above);
  const divisor = total(counted.map((record) => fraction(product(record, below), BigInt(same(record)))));
  if (divisor.n === 0n) return nano(empty);
  const dividend = total(counted.map((record) => fraction(paid(record), BigInt(same(record)))));
  return halfEven(dividend.n * divisor.d, dividend.d * divisor.n);
}

// How many tasks a window has.
const windowOf = ({ allocation }) => allocation.steps.find(({ last }) => last !== undefined).last;

// The mean of the last tasks, oldest first, each a list of the nanos that validators gave.
function windowMean(tasks, last) {
  const means = tasks.filter((scores) => scores.length > 0).map((scores) => fraction(sum(scores), BigInt(scores.length)));
  const kept = means.slice(-last);
  if (kept.length === 0) return 0n;
  const mean = over(total(kept), kept.length);
  return halfEven(mean.n, mean.d);
}

// Published weights by name, of scores by name.
function weights(rules, scores) {
  const entries = Object.entries(scores);
  const whole = sum(entries.map(([, score]) => score));
  if (whole === 0n) return {};
  let shares = entries.map(([name, score]) => [name, fraction(score, whole)]);
  const cap = rules.document.allocation.steps.find((step) => step.do === "cap");
  if (cap) {
    const miners = shares.filter(([, share]) => share.n > 0n).length;
    const [share, equal] = [decimal(cap.share), fraction(1n, BigInt(miners))];
    shares = waterFilled(shares, compare(share, equal) < 0n ? equal : share);
  }
  return Object.fromEntries(shares.map(([name, share]) => [name, publish(share)]));
}

// Whoever is above the limit gets it, the rest is shared in proportion; again until nobody is.
function waterFilled(shares, limit) {
  const full = new Set();
  for (;;) {
    const open = shares.filter(([name]) => !full.has(name));
    const left = add(fraction(1n), fraction(-limit.n * BigInt(full.size), limit.d));
    const rest = total(open.map(([, share]) => share));
    const scaled = open.map(([name, share]) => [name, rest.n ? fraction(left.n * share.n * rest.d, left.d * share.d * rest.n) : share]);
    const above = scaled.filter(([, share]) => compare(share, limit) > 0n);
    if (above.length === 0) {
      const found = new Map(scaled);
      return shares.map(([name]) => [name, found.get(name) ?? limit]);
    }
    above.forEach(([name]) => full.add(name));
  }
}

// Pairs of uid and weight, as Bittensor takes them; weights are published ones.
function toUint16(pairs) {
  const largest = pairs.reduce((found, [, weight]) => (weight > found ? weight : found), 0n);
  if (largest === 0n) return [];
  return pairs
    .map(([uid, weight]) => [uid, Number(halfEven(weight * 65535n, largest))])
    .filter(([, weight]) => weight > 0)
    .sort(([x], [y]) => x - y);
}

module.exports = {
  nano, recordDigest, consensusEvent, stateEvent, eventsDigest, logHash, delta, damped, meanDelta, median,
  nextThreshold, closeEpoch, snapshotDigest, stateDigest, ticket, selectGroup, roundScore, windowOf, windowMean,
  weights, toUint16,
};
