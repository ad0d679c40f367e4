"use strict";
// Evaluates trees. In: a list of {tree, rows: [{record, published}]}. Out: for each the nano of its rows, as
// text, or "undecided".

const fs = require("node:fs");
const { evaluate, publish } = require("./interpreter.js");
const { Undecided } = require("./real.js");

function nano(tree, { record, published }) {
  const given = Object.entries(published).map(([name, text]) => [name, BigInt(text)]);
  try {
    return `${publish(evaluate(tree, record, Object.fromEntries(given), {}))}`;
  } catch (error) {
    if (error instanceof Undecided) return "undecided";
    throw error;
  }
}

const asked = JSON.parse(fs.readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(asked.map(({ tree, rows }) => rows.map((row) => nano(tree, row)))));
