// npm's redlock over ioredis, told by lines what to do (actors.py says what they mean). Arguments:
// port, and the folder that has node_modules.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [port, folder] = process.argv.slice(2);
const require = createRequire(`${folder}/package.json`);
const { Redis } = require("ioredis");
const Redlock = require("redlock").default;

const server = new Redis({ host: "127.0.0.1", port: Number(port) });
const patient = new Redlock([server], { retryCount: -1 });
const nowNs = () => process.hrtime.bigint();
let held;

// Its own pauses between two tries, as many as fit into the patience.
async function acquire(name, patienceMs, leaseMs) {
  const retryDelay = 50;
  const retryCount = Math.floor(Number(patienceMs) / retryDelay);
  const redlock = new Redlock([server], { retryCount, retryDelay, retryJitter: 0 });
  try {
    held = await redlock.acquire([name], Number(leaseMs) || 30000);
  } catch {
    return "busy";
  }
  return `in ${nowNs()}`;
}

async function release() {
  const moment = nowNs();
  try {
    await held.release();
  } catch {
    return "not ours";
  }
  return `out ${moment}`;
}

async function count(locked, name, key, spanMs, pauseMs) {
  let times = 0;
  let longest = 0n;
  const end = nowNs() + BigInt(spanMs) * 1000000n;
  while (nowNs() < end) {
    const asked = nowNs();
    const lock = locked ? await patient.acquire([name], 30000) : undefined;
    const waited = nowNs() - asked;
    longest = waited > longest ? waited : longest;
    await server.set(key, Number((await server.get(key)) ?? 0) + 1);
    await lock?.release();
    times += 1;
    await new Promise((done) => setTimeout(done, Number(pauseMs)));
  }
  return `did ${times} ${longest}`;
}

function perform(verb, ...words) {
  if (verb === "acquire") return acquire(...words);
  if (verb === "release") return release();
  return count(verb === "count", ...words);
}

await server.ping();
console.log("ready");
for await (const line of createInterface({ input: process.stdin })) {
  console.log(await perform(...line.split(" ")));
}
process.exit(0);
