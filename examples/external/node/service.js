// The service of an external listener: it returns scores of the users that an earlier stage has
// found. You can kill it at any time, and run any number of copies at once.
//
//   node service.js redis://user:password@127.0.0.1:6379/0
//   node service.js --partitions 4 redis://user:password@127.0.0.1:6379/0
//   node service.js --partitions 8 --cluster redis://user:password@127.0.0.1:6379
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import zlib from 'node:zlib'
import Redis from 'ioredis'

const LISTENER = 'vendor.scores'
const GROUP = 'fanfold'
const CONSUMER = `${hostname()}-${process.pid}`

const { values: options, positionals: [url = 'redis://127.0.0.1:6379/0'] } = parseArgs({
  allowPositionals: true,
  options: {
    partitions: { type: 'string', default: '1' }, // redis.partitions in Fanfold's configuration
    cluster: { type: 'boolean', default: false } // the URL names a node of a Redis Cluster
  }
})

/** A connection. A blocking read delays the commands after it, so every reader has its own connection. */
function connect () {
  const { protocol, hostname: host, port, username, password } = new URL(url)
  const tls = protocol === 'rediss:' ? {} : undefined
  const redis = options.cluster
    ? new Redis.Cluster([{ host, port }], { redisOptions: { username, password, tls, maxRetriesPerRequest: null } })
    : new Redis(url, { maxRetriesPerRequest: null })
  redis.on('error', (error) => console.error(error.message)) // ioredis reconnects
  return redis
}

const redis = connect()

/** The keys of every partition: the stream of tasks, the stream of replies, and the prefix of a job's hash. */
const count = Number(options.partitions)
const partitions = options.cluster || count > 1
  ? Array.from({ length: count }, (_, i) => `{fanfold:${i}}:`)
    .map((tag) => ({ tasks: `${tag}task:${LISTENER}`, reply: `${tag}reply`, hash: `${tag}FileDownloadRecordEntity-` }))
  : [{ tasks: `fanfold:task:${LISTENER}`, reply: 'fanfold:reply', hash: 'FileDownloadRecordEntity-' }]

/** Repeats a command until Redis accepts it: Redis may be unreachable or full. Commands that run twice have no further effect. */
async function insist (command, ...args) {
  for (;;) {
    try {
      return await redis[command](...args)
    } catch (error) {
      console.error(`${command}: ${error.message}; retrying in a second`)
      await sleep(1000)
    }
  }
}

/** Sends Fanfold a reply to a task. */
function say (keys, task, type, fields = {}) {
  return insist('xadd', keys.reply, '*', ...Object.entries({ ...task, type, ...fields }).flat())
}

/** The values of a column that an earlier stage has found, chunk by chunk, without nulls and duplicates. */
async function * values (job, listener, column) {
  const seen = new Set([null])
  const found = await insist('hget', job, `${listener}:found`)
  const [, chunks] = / chunks=(\d+)/.exec(found ?? '') ?? [null, 0]
  for (let n = 0; n < Number(chunks); n++) {
    const field = `${listener}.${column}${n ? `#${n}` : ''}`
    let text = await insist('hgetBuffer', job, field)
    if (text === null) throw new Error('the job has ended')
    if (text.toString('hex', 0, 4) === '28b52ffd') text = zlib.zstdDecompressSync(text) // limits.redis_compression; Node 22.15
    yield JSON.parse(text.toString()).filter((value) => !seen.has(value) && seen.add(value))
  }
}

/** The score of a user. Replace it with your own code. */
function score (user, parameters) {
  if (parameters.from > '2100') throw Object.assign(new Error(`there are no scores from ${parameters.from} on`), { permanent: true })
  return (user * 1.5).toFixed(2)
}

/** An object from a list of names and values. */
function pairs (list) {
  const object = {}
  for (let i = 0; i + 1 < list.length; i += 2) object[list[i]] = list[i + 1]
  return object
}

/** Works on one task. */
async function work (keys, entry, { id, attempt }) {
  const task = { id, attempt, listener: LISTENER, worker: randomUUID(), entry, consumer: CONSUMER }
  await say(keys, task, 'alive')
  const beat = setInterval(() => say(keys, task, 'alive'), 1000)
  try {
    const text = await insist('hget', keys.hash + id, 'parameters')
    if (text === null) return // the job has ended
    const parameters = JSON.parse(text)
    let number = 0
    for await (const users of values(keys.hash + id, 'shop.users', 'user_id')) {
      for (let from = 0; from < users.length; from += 1000) {
        while (await insist('xlen', keys.reply) > 100) await sleep(100) // Fanfold is slower than this service
        const rows = users.slice(from, from + 1000).map((user) => [user, score(user, parameters)])
        await say(keys, task, 'rows', { number: number++, rows: JSON.stringify(rows) })
      }
    }
    await say(keys, task, 'done', { chunks: number })
  } catch (error) {
    await say(keys, task, 'failed', { error: error.message, ...(error.permanent && { permanent: 1 }) })
  } finally {
    clearInterval(beat)
  }
}

/** Works on the tasks of some partitions. COUNT applies to every stream; the entries of a call are processed at the same time. */
async function read (some) {
  const reader = connect()
  const streams = some.map((keys) => keys.tasks)
  for (;;) {
    try {
      const found = await reader.xreadgroup('GROUP', GROUP, CONSUMER, 'COUNT', 1, 'BLOCK', 5000, 'STREAMS', ...streams, ...streams.map(() => '>'))
      await Promise.all((found ?? []).flatMap(([stream, entries]) =>
        entries.map(([entry, fields]) => work(some[streams.indexOf(stream)], entry, pairs(fields)))))
    } catch (error) {
      console.error(error.message) // Redis is unreachable, or Fanfold has not created the group yet
      await sleep(1000)
    }
  }
}

// One call reads all streams of one server. In a cluster, every stream needs its own reader.
for (const some of options.cluster ? partitions.map((keys) => [keys]) : [partitions]) read(some)
