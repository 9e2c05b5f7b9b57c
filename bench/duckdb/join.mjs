// Joins two dumps of the mariadb client to a CSV, as the report of the benchmark does:
// node join.mjs a.tsv b.tsv out.csv. All columns are read as text, which is the fastest, but
// for the key. NULL does not occur in these tables.
import { DuckDBInstance } from '@duckdb/node-api'

const [a, b, out] = process.argv.slice(2)
const table = (file) =>
  `read_csv('${file}', delim = '\\t', header = true, quote = '', escape = '', all_varchar = true)`
const duckdb = await DuckDBInstance.create(':memory:')
const connection = await duckdb.connect()
await connection.run(`
  COPY (
    SELECT a.user_id, a.name, a.tag, a.score, a.level, a.city, a.created_at AS registered,
      b.id, b.amount, b.fee, b.status, b.note, b.created_at
    FROM ${table(a)} a JOIN ${table(b)} b ON b.user_id::UBIGINT = a.user_id::UBIGINT
  ) TO '${out}' (HEADER, DELIMITER ',')`)
