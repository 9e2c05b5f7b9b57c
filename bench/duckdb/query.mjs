// Runs a query, and prints its rows as a JSON array of arrays of texts or null: node query.mjs SQL
import { DuckDBInstance } from '@duckdb/node-api'

const instance = await DuckDBInstance.create(':memory:', { threads: '2' })
const connection = await instance.connect()
await connection.run("SET TimeZone = 'UTC'")
const result = await connection.runAndReadAll(process.argv[2])
console.log(JSON.stringify(result.getRows().map((row) => row.map((value) => (value === null ? null : String(value))))))
