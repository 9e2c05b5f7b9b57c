// Package fanfold holds the files that stand at the top of the project and that
// programs need at run time. The project's parts are its subpackages:
//
//   - report: what a report is; config: which field sets it
//   - scripts: what is atomic in Redis: keys, Lua and its handles
//   - step: how one piece of work is done
//   - engine: moves a job forward: engine/trigger starts it, engine/fanin ends it, engine/files has
//     its files, engine/recovery what Redis forgets
//   - record: the records in MySQL; sink: where files go
//   - dialect: how the SQL of a query is read
//   - listeners: run the queries; a kind of source has a package below it
//   - dataset: what listeners write; fold: how datasets meet; format: what the file
//     looks like
//   - scheduler: what happens because time passed
//   - inspect: what an operator sees; operate: what an operator changes
//   - dashboard, waiting, api: what a browser or a client sees; web: what they have in common
//   - internal/access: who may do what over HTTP; trace: traces of jobs
//   - internal/aged: when something is asked again; internal/words: how people read it
//   - cmd/fanfold: the command
package fanfold

import _ "embed"

// RedisConf is the redis.conf that Fanfold is made for; the demo and the tests
// start their servers with it.
//
//go:embed redis.conf
var RedisConf []byte
