// npm's redlock over ioredis for ./bench redis. Arguments: the folder with node_modules, port,
// name, clients, own|one; then as benchmarks/peer_subject.hpp says. Clients of one process share
// a connection, as in any program for Node.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [folder, port, name, clients, kind] = process.argv.slice(2);
const require = createRequire(`${folder}/package.json`);
const { Redis } = require("ioredis");
const Redlock = require("redlock").default;

const server = new Redis({ host: "127.0.0.1", port: Number(port) });
// Its default pauses (200 ms and some), but no end of trying: a lock is waited for.
const redlock = new Redlock([server], { retryCount: -1 });
const lease = 30000;
const turns = [];

async function work(client, until) {
  const key = kind === "own" ? `${name}/${client}` : name;
  while (process.hrtime.bigint() < until) {
    const asked = process.hrtime.bigint();
    const lock = await redlock.acquire([key], lease);
    const inside = process.hrtime.bigint();
    const left = process.hrtime.bigint();
    await lock.release();
    turns.push([client, asked, inside, left, process.hrtime.bigint()]);
  }
}

await (await redlock.acquire([`${name}/first`], lease)).release();
console.log("ready");
const lines = createInterface({ input: process.stdin });
const until = BigInt((await lines[Symbol.asyncIterator]().next()).value);
await Promise.all(Array.from({ length: Number(clients) }, (_, i) => work(i, until)));
process.stdout.write(turns.map((turn) => turn.join(" ")).join("\n") + "\n", () => process.exit(0));
