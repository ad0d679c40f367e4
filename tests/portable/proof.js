// Verifies a proof file (docs/evidence.md) with node's own library alone.
//
//   node proof.js proof.json [ed25519:HEX ...]
//
// It prints the row if its path leads to the root of its step, the leaf of the epoch to the root of
// the checkpoint, and each Ed25519 key that is named has signed that. Otherwise it fails.
"use strict";

const { createHash, createPublicKey, verify } = require("node:crypto");
const { readFileSync } = require("node:fs");

const sha256 = (...parts) => createHash("sha256").update(Buffer.concat(parts)).digest();
const leafHash = (data) => sha256(Buffer.of(0), data);
const nodeHash = (left, right) => sha256(Buffer.of(1), left, right);

function check(holds, problem) {
  if (!holds) throw new Error(problem);
}

// RFC 8785: numbers of a proof are whole, and JavaScript's order of keys is that of UTF-16
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.keys(value).sort();
  return `{${members.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
}

// RFC 6962, 2.1.1: the root of a tree of some size that has a leaf at an index
function rootOf(leaf, index, size, path) {
  check(index < size, `found the index ${index} in a tree of ${size}`);
  const below = (low, high) => {
    if (high - low === 1) return leaf;
    let half = 1;
    while (2 * half < high - low) half *= 2;
    const isLeft = index < low + half;
    const inner = isLeft ? below(low, low + half) : below(low + half, high);
    check(path.length > 0, "found a path that is too short");
    const beside = Buffer.from(path.shift(), "base64");
    return isLeft ? nodeHash(inner, beside) : nodeHash(beside, inner);
  };
  const root = below(0, size);
  check(path.length === 0, "found a path that is too long");
  return root;
}

// a signed note whose text has three lines: origin, size, root
function checkpointOf(note) {
  const end = note.lastIndexOf("\n\n") + 1;
  const text = end > 0 ? note.slice(0, end) : note;
  const [origin, size, root] = text.split("\n");
  const signatures = note.slice(end).split("\n").filter((line) => line.startsWith("\u2014 "));
  return { text, origin, size: Number(size), root, signatures };
}

function isSignedBy(checkpoint, key) {
  const data = Buffer.from(key.replace(/^ed25519:/, ""), "hex");
  const der = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), data]);
  const publicKey = createPublicKey({ key: der, format: "der", type: "spki" });
  return checkpoint.signatures.some((line) => {
    const [, name, encoded] = line.split(" ");
    const signature = Buffer.from(encoded, "base64");
    const keyId = sha256(Buffer.from(`${name}\n`), Buffer.of(1), data).subarray(0, 4);
    const isOfKey = name === checkpoint.origin && signature.subarray(0, 4).equals(keyId);
    return isOfKey && verify(null, Buffer.from(checkpoint.text), publicKey, signature.subarray(4));
  });
}

function proven(file, keys) {
  const proof = JSON.parse(file);
  check(`${canonical(proof)}\n` === file, "found another spelling, expected RFC 8785");
  const step = proof.leaf.steps[proof.step];
  check(step !== null, `found no root of ${proof.step}`);
  const row = leafHash(Buffer.from(canonical(proof.row)));
  const stepRoot = rootOf(row, proof.row_index, step.size, [...proof.row_path]);
  check(stepRoot.toString("hex") === step.root, "the row does not lead to the root of its step");
  const checkpoint = checkpointOf(proof.checkpoint);
  const leaf = leafHash(Buffer.from(canonical(proof.leaf)));
  const root = rootOf(leaf, proof.leaf.epoch, checkpoint.size, [...proof.leaf_path]);
  check(root.toString("base64") === checkpoint.root, "the epoch does not lead to the checkpoint");
  for (const key of keys) check(isSignedBy(checkpoint, key), `found no signature by ${key}`);
  return { epoch: proof.leaf.epoch, step: proof.step, row: proof.row, origin: checkpoint.origin };
}

const [path, ...keys] = process.argv.slice(2);
try {
  console.log(JSON.stringify(proven(readFileSync(path, "utf8"), keys)));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
