"use strict";
// Runs vectors. In: {shown: {rule set: JSON}, cases: [case]}. Out: the operations that there are, and
// the rows that have another answer, {id, row, found, expected}.

const fs = require("node:fs");

const asked = JSON.parse(fs.readFileSync(0, "utf8"));
const program = { ...require("./interpreter.js"), ...require("./state.js") };

const texts = (p, values) => Object.fromEntries(Object.entries(values).map(([name, n]) => [name, p.nanoText(n)]));
const nanos = (p, values) => Object.fromEntries(Object.entries(values).map(([name, text]) => [name, p.nano(text)]));
const shares = (p, weights, values) => [nanos(p, values), Object.fromEntries(weights.map((weight, i) => [i, weight]))];

// The symbols of the first vectors.
const AXES = {
  alpha: "detection", epsilon: "evidence", pi: "policy", eta: "efficiency", rho: "injection_recall",
  mu: "ml_agreement", sigma: "shell_coverage", psi: "manifest_integrity", tau: "tool_poison_recall", chi: "transitive_risk",
};
const named = (axes) => Object.fromEntries(Object.entries(axes).map(([symbol, value]) => [AXES[symbol] ?? symbol, value]));
const composite = (p, rules, { type, axes }) =>
  p.nanoText(p.qualityOf(rules, rules.document.skill_types[type], nanos(p, named(axes)), {}));

function answer(p, rules, line) {
  const { text, error } = p.scoreLine(rules, line);
  return error === undefined ? text : { error };
}

const OPERATIONS = {
  row: (p, _, line, expected, loaded) =>
    Object.fromEntries(Object.keys(expected).map((name) => [name, answer(p, loaded[name], line)])),
  state_event: (p, rules, line) => {
    const found = p.stateEvent(rules, line);
    return found.error === undefined ? p.canonical(found) : found;
  },
  record_digest: (p, _, line, expected, loaded) => {
    const type = JSON.parse(line).skill_type;
    return p.recordDigest(Object.values(loaded).find((rules) => type in rules.skill_types), line);
  },
  nano: (p, _, text) => p.nanoText(p.nanoOfDouble(JSON.parse(text))),
  geometric_mean: (p, _, { weights, values }) => p.nanoText(p.geometricMean(...shares(p, weights, values))),
  arithmetic_mean: (p, _, { weights, values }) => p.nanoText(p.arithmeticMean(...shares(p, weights, values))),
  median: (p, _, values) => p.nanoText(p.median(values.map(p.nano))),
  composite,
  composite_q: composite,
  emission_of: (p, rules, terms) => {
    const { formula } = rules.document.emission;
    return p.nanoText(p.publish(p.evaluate(rules.formulas[formula].tree, {}, nanos(p, terms), {})));
  },
  tree: (p, _, { tree, published, parameters }) =>
    p.nanoText(p.publish(p.evaluate(tree, {}, nanos(p, published), parameters))),
  thresholds: (p, rules, baseline) => texts(p, p.thresholdsOf(rules, { baseline: p.nano(baseline) })),
  tier: (p, rules, { q, base, opt, nov }) => {
    const level = p.tierOf(rules, p.nano(q), nanos(p, { baseline: base, optimised: opt, novel: nov }));
    return { tier: level.name, multiplier: p.nanoText(p.nano(level.multiplier)) };
  },
  close_epoch: (p, rules, { state, events, pinned }) => {
    const { miners, thresholds } = p.closeEpoch(rules, state, events, pinned);
    return { miners, thresholds };
  },
  reputation_record_delta: (p, rules, { rep, events }) => p.nanoText(p.publish(p.delta(rules, p.nano(rep), events))),
  group: (p, rules, { candidates, type, round, seed }) => p.selectGroup(rules, candidates, type, round, seed),
  consensus_event: (p, rules, value) => p.consensusEvent(rules, p.nano(value)),
  round: (p, rules, tasks) => {
    const weight = ({ type }) => p.nano(rules.document.skill_types[type].base_weight);
    const taken = tasks.map((t) => ({ ...nanos(p, { emission: t.emission, reputation: t.reputation }), base_weight: weight(t), missed: t.missed, task: t.task }));
    return p.nanoText(p.roundScore(rules, taken));
  },
  window: (p, rules, tasks) =>
    p.nanoText(p.windowMean(tasks.map((scores) => scores.map(p.nano)), p.windowOf(rules.document))),
  window_mean: (p, _, { scores, window }) => p.nanoText(p.windowMean(scores.map((score) => [p.nano(score)]), window)),
  weights: (p, rules, scores) => texts(p, p.weights(rules, nanos(p, scores))),
  uint16: (p, _, pairs) => p.toUint16(pairs.map(([uid, weight]) => [uid, p.nano(weight)])),
  events_digest: (p, _, lines) => p.eventsDigest(lines),
  snapshot_digest: (p, _, { rules, state, previous, events_digest: evidence }) =>
    p.snapshotDigest({ digest: rules }, state, previous, evidence),
  state_digest: (p, _, { snapshot, state, events_digest: evidence }) => p.stateDigest(snapshot, state, evidence),
  log: (p, _, entries) => entries.map((_entry, place) => p.logHash(entries.slice(0, place + 1))),
};

function* differences() {
  const loaded = Object.fromEntries(Object.entries(asked.shown).map(([name, shown]) => [name, program.load(shown)]));
  const exact = program.canonical;
  for (const { id, rule_set: name, op, inputs, expected } of asked.cases) {
    for (const [row, input] of inputs.entries()) {
      let found;
      try {
        found = OPERATIONS[op](program, loaded[name], input, expected[row], loaded);
      } catch (error) {
        found = String(error.stack);
      }
      if (exact(found ?? null) !== exact(expected[row])) yield { id, row: row + 1, found, expected: expected[row] };
    }
  }
}

process.stdout.write(JSON.stringify({ operations: Object.keys(OPERATIONS), differences: [...differences()] }));
