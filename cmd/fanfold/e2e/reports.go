package e2e

import "fmt"

// Slow is a report whose query sleeps as long as a parameter says.
const Slow = `
  slow:
    parameters: {seconds: {type: decimal, default: "0"}}
    listeners:
      one: {database: db, query: "SELECT 1 AS k, SLEEP(:seconds) AS v"}
`

// Who is a report that writes the name of its user into its file.
const Who = `
  who:
    parameters: {who: string, seconds: {type: decimal, default: "0"}}
    retry: 0
    listeners: {one: {database: db, query: "SELECT :who AS who, SLEEP(:seconds) AS v"}}
`

// WhoFile is the file of a job of Who.
func WhoFile(who string) string { return "who,v\r\n" + who + ",0\r\n" }

// WhoParameters are the parameters of a job of Who.
func WhoParameters(who string, seconds float64) string {
	return fmt.Sprintf(`{"who": %q, "seconds": "%g"}`, who, seconds)
}

// Crowd is a small report of two stages, which uses every script.
const Crowd = `
  crowd:
    parameters: {job: integer}
    listeners:
      src.a: {database: db, query: "SELECT seq AS k, seq * :job AS a FROM seq_1_to_20"}
      src.b: {database: db, query: "SELECT seq AS k, seq + :job AS b FROM seq_1_to_20"}
      src.c: {database: db, query: "SELECT seq AS k, seq + 7 AS c FROM seq_1_to_20 WHERE seq IN (:src.a.k)"}
    join: {key: k}
`
