// Runs a query on CSV files, writes a CSV, and says how long it took from reading to writing, and by how much the
// process has grown: node fold.mjs '{"threads": 1, "tables": {"a": {"file", "columns"}}, "used": ["a"], "query", "out"}'.
import { readFileSync, writeFileSync } from 'node:fs'
import { DuckDBInstance } from '@duckdb/node-api'

const asked = JSON.parse(process.argv[2])
const duckdb = await DuckDBInstance.create(':memory:', { threads: String(asked.threads) })
const connection = await duckdb.connect()
for (const name of asked.used) {
  const { file, columns } = asked.tables[name]
  await connection.run(`CREATE VIEW ${name} AS SELECT * FROM
    read_csv('${file}', header = false, auto_detect = false, delim = ',', quote = '', columns = {${columns}})`)
}
const peak = () => Number(/VmHWM:\s*(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]) * 1024 / 1e6
writeFileSync('/proc/self/clear_refs', '5')
const before = peak()
const began = process.cpuUsage()
const start = performance.now()
await connection.run(`COPY (${asked.query}) TO '${asked.out}' (HEADER, DELIMITER ',')`)
const seconds = (performance.now() - start) / 1000
const { user, system } = process.cpuUsage(began)
console.log(JSON.stringify({ seconds, cpu: (user + system) / 1e6, memory: peak() - before }))
