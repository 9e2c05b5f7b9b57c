// The service of an external listener: scores of the users that an earlier stage has
// found. It may be killed at any time, and run any number of times beside itself.
//
//   node service.js redis://user:password@127.0.0.1:6379/0
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import zlib from 'node:zlib'
import Redis from 'ioredis'

const LISTENER = 'vendor.scores'
const TASKS = `fanfold:task:${LISTENER}`
const GROUP = 'fanfold'
const CONSUMER = `${hostname()}-${process.pid}`

const redis = new Redis(process.argv[2] ?? 'redis://127.0.0.1:6379/0', { maxRetriesPerRequest: null })
redis.on('error', (error) => console.error(error.message)) // it connects again by itself

/** Runs a command until Redis takes it: it may be away, or full. Twice does no harm. */
async function insist (command, ...args) {
  for (;;) {
    try {
      return await redis[command](...args)
    } catch (error) {
      console.error(`${command}: ${error.message}; again in a second`)
      await sleep(1000)
    }
  }
}

/** Tells Fanfold something of a task. */
function say (task, type, fields = {}) {
  return insist('xadd', 'fanfold:reply', '*', ...Object.entries({ ...task, type, ...fields }).flat())
}

/** The values of a column that an earlier stage has found, chunk by chunk. */
async function * values (id, listener, column) {
  const found = await insist('hget', `FileDownloadRecordEntity-${id}`, `${listener}:found`)
  const [, chunks] = / chunks=(\d+)/.exec(found ?? '') ?? [null, 0]
  for (let n = 0; n < Number(chunks); n++) {
    const field = `${listener}.${column}${n ? `#${n}` : ''}`
    let text = await insist('hgetBuffer', `FileDownloadRecordEntity-${id}`, field)
    if (text === null) throw new Error('the job has ended')
    if (text.toString('hex', 0, 4) === '28b52ffd') text = zlib.zstdDecompressSync(text) // limits.compress; Node 22.15
    yield JSON.parse(text.toString())
  }
}

/** Put your own here: the score of a user. */
function score (user, parameters) {
  if (parameters.from > '2100') throw Object.assign(new Error(`no scores from ${parameters.from} on`), { permanent: true })
  return (user * 1.5).toFixed(2)
}

/** A list of names and values as an object. */
function pairs (list) {
  const object = {}
  for (let i = 0; i + 1 < list.length; i += 2) object[list[i]] = list[i + 1]
  return object
}

/** Does one task. */
async function work (entry, { id, attempt }) {
  const task = { id, attempt, listener: LISTENER, worker: randomUUID(), entry, consumer: CONSUMER }
  await say(task, 'alive')
  const beat = setInterval(() => say(task, 'alive'), 1000)
  try {
    const text = await insist('hget', `FileDownloadRecordEntity-${id}`, 'parameters')
    if (text === null) return // the job has ended
    const parameters = JSON.parse(text)
    let number = 0
    for await (const users of values(id, 'shop.users', 'user_id')) {
      for (let from = 0; from < users.length; from += 1000) {
        while (await insist('xlen', 'fanfold:reply') > 100) await sleep(100) // Fanfold is slower: give it time
        const rows = users.slice(from, from + 1000).map((user) => [user, score(user, parameters)])
        await say(task, 'rows', { number: number++, rows: JSON.stringify(rows) })
      }
    }
    await say(task, 'done', { chunks: number })
  } catch (error) {
    await say(task, 'failed', { error: error.message, ...(error.permanent && { permanent: 1 }) })
  } finally {
    clearInterval(beat)
  }
}

for (;;) {
  try {
    const streams = await redis.xreadgroup('GROUP', GROUP, CONSUMER, 'COUNT', 1, 'BLOCK', 5000, 'STREAMS', TASKS, '>')
    for (const [, entries] of streams ?? []) {
      for (const [entry, fields] of entries) await work(entry, pairs(fields))
    }
  } catch (error) {
    console.error(error.message) // Redis is away, or Fanfold has not made the group yet
    await sleep(1000)
  }
}
