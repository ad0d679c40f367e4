"use strict";
// The names of the readers of facts that the interpreter has: nothing in, [name] out.

const { READERS } = require("./interpreter.js");

process.stdout.write(JSON.stringify(Object.keys(READERS)));
