// Package fanfold holds the files that stand at the top of the project and that
// programs need at run time. The project's parts are its subpackages:
//
//   - report: what a report is: definition, datasets, join, CSV
//   - scripts: what is atomic in Redis: keys, Lua and its bindings
//   - engine: moves a job forward: trigger, fan-in; engine/record, engine/sink
//   - listeners: run the queries
//   - scheduler: what happens because time passed
//   - cmd/fanfold: the command
package fanfold

import _ "embed"

// RedisConf is the redis.conf that Fanfold is made for; the demo and the tests
// start their servers with it.
//
//go:embed redis.conf
var RedisConf []byte
