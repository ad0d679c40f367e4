// A validator's own loop in Node, beside the daemon: it asks miners, and hands over what came back.
//
//     node sidecar.mjs --epochs 2 --seed 1
//
// The daemon keeps the records, closes rounds and epochs, and sets the weights. Nothing is kept here:
// killed anywhere and started again, it sends the rounds of the open epoch once more, and those that
// the daemon has are answered "duplicate".
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";

const { values: options } = parseArgs({
  options: {
    epochs: { type: "string", default: "2" },
    seed: { type: "string", default: "1" },
    socket: { type: "string", default: "in.sock" },
    health: { type: "string", default: "daemon/health.json" },
    subnet: { type: "string", default: "subnet.json" },
  },
});
const subnet = JSON.parse(await readFile(options.subnet, "utf8"));

// a number from 0 to 1 that follows from the seed alone, so that everybody's miners answer alike
function dice(...parts) {
  let hash = 2166136261;
  for (const letter of [options.seed, ...parts].join("/")) {
    hash = Math.imul(hash ^ letter.codePointAt(0), 16777619);
  }
  hash = Math.imul(hash ^ (hash >>> 15), 2246822507);
  hash = Math.imul(hash ^ (hash >>> 13), 3266489909);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

// the subnet template's forward(): ask every miner a task; here they are made up
function forward(round, epoch) {
  return subnet.miners.map((miner) => ({
    skill_type: subnet.skill_type,
    task_id: `task-${round}`,
    round,
    epoch,
    validator: subnet.validator,
    miner,
    role: "primary",
    task: { max_budget_tao: 1, max_latency_seconds: 10 },
    submission: { error_handling: {} },
    checks: {
      output_quality: Math.min(1, miner.uid / 8) * (0.75 + dice(round, miner.uid) / 4),
      steps_completed: 4,
      total_steps: 4,
      actual_tao: 0.2 + dice("tao", round, miner.uid) / 2,
      actual_seconds: 1 + 8 * dice("seconds", round, miner.uid),
      actual_retries: 0,
      timeouts: 0,
      hard_failures: 0,
    },
  }));
}

// the newest health of the daemon; none before its first look at the chain
async function facts() {
  try {
    return JSON.parse(await readFile(options.health, "utf8")).facts;
  } catch (error) {
    if (error.code !== "ENOENT") throw error;
    return {};
  }
}

// one line for each record, and one answer for each line, once it is durable
async function send(records) {
  const to = { socketPath: options.socket, path: "/intake", method: "POST" };
  // a connection for each post: the daemon ends those that are idle
  const post = request({ ...to, agent: false });
  post.end(records.map((record) => `${JSON.stringify(record)}\n`).join(""));
  const [response] = await once(post, "response");
  const body = await text(response);
  if (response.statusCode !== 200) throw new Error(`the daemon refused: ${body}`);
  const answers = body.split("\n");
  const counts = {};
  for (const [index, record] of records.entries()) {
    if (!answers[index]) throw new Error(`the daemon ended before it answered ${record.task_id}`);
    const answer = JSON.parse(answers[index]);
    if (answer.status === "rejected") throw new Error(`${record.task_id}: ${answers[index]}`);
    counts[answer.status] = (counts[answer.status] ?? 0) + 1;
  }
  return counts;
}

let next = null;
for (;;) {
  const { best, open_epoch: opened } = await facts();
  if (opened >= Number(options.epochs)) break;
  if (best !== undefined && best >= subnet.anchor_block) {
    const round = Math.floor((best - subnet.anchor_block) / subnet.blocks_a_round);
    next ??= opened * subnet.rounds_an_epoch;
    for (; next <= round && next < options.epochs * subnet.rounds_an_epoch; next += 1) {
      const epoch = Math.floor(next / subnet.rounds_an_epoch);
      console.log(`round ${next}: ${JSON.stringify(await send(forward(next, epoch)))}`);
    }
  }
  await wait(50);
}
console.log(`${options.epochs} epochs are closed`);
