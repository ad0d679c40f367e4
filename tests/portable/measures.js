"use strict";
// Measures, and what is read unrounded: docs/canonical.md, "Measures". Takes rule sets as they are loaded
// by interpreter.js, and gives rows with the measures and the group of the miner.

const { decimal, evaluate, nanoText, publishAll, scoreLine } = require("./interpreter.js");

const gcd = (x, y) => (y === 0n ? x : gcd(y, x % y));
const constant = ({ n, d }) => ["const", [`${n}`, `${d}`], []];

// A tree whose parameters have values, with the tree of what it reads unrounded in its place.
const bind = ([op, data, args], parameters, treeOf) => {
  if (op === "param") return constant(decimal(parameters[data[0]]));
  if (op === "unrounded") return treeOf(data[0]);
  return [op, data, args.map((arg) => bind(arg, parameters, treeOf))];
};

// The rules with each axis and measure as a formula of its own, which has no parameters.
function resolved(rules) {
  const { axes = {}, measures = {} } = rules.document;
  const settings = { ...axes, ...measures };
  const treeOf = (name) => bind(rules.formulas[settings[name].formula].tree, settings[name], treeOf);
  const names = Object.keys(settings);
  const own = Object.fromEntries(names.map((name) => [`own/${name}`, { tree: treeOf(name) }]));
  const named = Object.fromEntries(names.map((name) => [name, { formula: `own/${name}` }]));
  const document = { ...rules.document, axes: named };
  return { ...rules, document, measures, formulas: { ...rules.formulas, ...own }, values: named };
}

// The measures of a record by name, as text; null where one does not apply.
function measuresOf(rules, record, axes) {
  const names = [...(rules.document.skill_types[record.skill_type].measures ?? [])].sort();
  const published = publishAll(rules, rules.values, names, { ...axes }, record);
  const told = (name) => {
    const { applies } = rules.formulas[rules.measures[name].formula];
    if (applies && evaluate(applies, record, {}, {}).n === 0n) return null;
    if (!rules.measures[name].exact) return nanoText(published[name]);
    const { n, d } = evaluate(rules.formulas[`own/${name}`].tree, record, published, {});
    const shared = gcd(n < 0n ? -n : n, d < 0n ? -d : d) * (d < 0n ? -1n : 1n);
    return `${n / shared}/${d / shared}`;
  };
  return Object.fromEntries(names.map((name) => [name, told(name)]));
}

// As scoreLine of interpreter.js, of rules that are resolved.
function measuredLine(rules, line, number) {
  const { row, values, record, error } = scoreLine(rules, line, number);
  if (error !== undefined) return { error };
  const { group = "skill_type" } = rules.document.allocation ?? {};
  const measures = "axes" in values ? measuresOf(rules, record, values.axes) : {};
  const fields = Object.entries(row).flatMap((entry) =>
    entry[0] === "axes"
      ? [...(group === "skill_type" ? [] : [["group", record[group]]]), entry, ["measures", measures]]
      : [entry],
  );
  return { text: JSON.stringify(Object.fromEntries(fields)) };
}

module.exports = { resolved, measuredLine };
