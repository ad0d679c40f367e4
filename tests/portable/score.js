"use strict";
// Scores lines: {shown: {rule set: JSON}, lines: {rule set: [line]}} in, {rule set: [answer]} out,
// where an answer is the text of the row, or {error}.

const { load, scoreLine } = require("./interpreter.js");

const asked = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const found = {};
for (const [name, lines] of Object.entries(asked.lines)) {
  const rules = load(asked.shown[name]);
  found[name] = lines.map((line, place) => {
    const { text, error } = scoreLine(rules, line, place + 1);
    return error === undefined ? text : { error };
  });
}
process.stdout.write(JSON.stringify(found));
