// The unit of work in BullMQ: a flow whose children are the listeners and whose
// parent is the fold. A child returns its numbers, which BullMQ keeps as JSON in a
// hash of the parent; the parent reads all of them with getChildrenValues. Jobs are
// removed when they have completed.
//
// node peer.js PORT LISTENERS, then commands as lines of JSON:
//   {"push": [id, …], "at": ms}  adds flows; with at, their children wait until
//                                then. Answers "pushed"
//   {"run": true, "tell": true}  starts the workers; with tell it says "started ID"
//                                when a child begins
// After a job is removed it says "folded ID", and what was wrong with its numbers.
// It ends with its input.
'use strict';
const readline = require('node:readline');
const { FlowProducer, Worker } = require('bullmq');

const [port, listeners] = process.argv.slice(2).map(Number);
// As BullMQ's documentation has it for jobs that wait for input and output.
const concurrency = 50;
const bulk = 250; // flows in one call

const connection = { host: '127.0.0.1', port, maxRetriesPerRequest: null };
const removed = { removeOnComplete: true };
const count = 100;
const say = (...words) => process.stdout.write(words.join(' ') + '\n');
const flows = new FlowProducer({ connection });
let tell = false;

const numbers = new Worker('numbers', async (job) => {
  if (tell) say('started', job.data.id);
  return Array.from({ length: count }, (_, i) => i);
}, { connection, concurrency, autorun: false });

const folds = new Worker('folds', async (job) => {
  const values = Object.values(await job.getChildrenValues());
  if (values.length !== listeners) return `${values.length} listeners`;
  const bad = values.find((v) => v.length !== count || v.some((n, i) => n !== i));
  return bad ? `wrong numbers: ${bad}` : '';
}, { connection, concurrency, autorun: false });
folds.on('completed', (job, wrong) => say('folded', job.id, wrong));

for (const worker of [numbers, folds]) {
  worker.on('error', fail);
  worker.on('failed', (_, err) => fail(err));
}

function fail(err) {
  console.error(err);
  process.exit(1);
}

function flow(id, at) {
  const opts = at ? { ...removed, delay: Math.max(0, at - Date.now()) } : removed;
  return {
    name: 'fold', queueName: 'folds', data: { id }, opts: { ...removed, jobId: id },
    children: Array.from({ length: listeners }, (_, i) => ({ name: 'l' + i, queueName: 'numbers', data: { id }, opts })),
  };
}

async function command(c) {
  if (c.push) {
    for (let i = 0; i < c.push.length; i += bulk) {
      await flows.addBulk(c.push.slice(i, i + bulk).map((id) => flow(id, c.at)));
    }
    say('pushed');
  }
  if (c.run) {
    tell = c.tell;
    for (const worker of [numbers, folds]) worker.run().catch(fail);
  }
}

async function main() {
  await Promise.all([flows.waitUntilReady(), numbers.waitUntilReady(), folds.waitUntilReady()]);
  say('ready');
  for await (const line of readline.createInterface({ input: process.stdin })) await command(JSON.parse(line));
  await Promise.all([numbers.close(), folds.close()]);
  process.exit(0);
}

main().catch(fail);
