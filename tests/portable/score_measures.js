"use strict";
// Scores lines by a rule set with measures: {shown, lines} in, [text of the row] out.

const { load } = require("./interpreter.js");
const { resolved, measuredLine } = require("./measures.js");

const asked = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const rules = resolved(load(asked.shown));
const found = asked.lines.map((line, place) => measuredLine(rules, line, place + 1).text);
process.stdout.write(JSON.stringify(found));
