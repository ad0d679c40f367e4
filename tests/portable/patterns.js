"use strict";
// Which texts fit which patterns: {patterns, texts} in, a list of truths for each pattern out.

const { fits } = require("./interpreter.js");

const { patterns, texts } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const found = patterns.map((pattern) => texts.map((text) => fits(text, pattern)));
process.stdout.write(JSON.stringify(found));
