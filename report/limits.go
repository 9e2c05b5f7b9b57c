package report

import "time"

// Limits bounds what one installation does at once.
type Limits struct {
	// jobs running at once, in all processes together; the others wait in `fanfold:jobs`. Processes that start jobs at the same moment can each exceed it by 100
	RunningJobs int `yaml:"running_jobs" default:"1000" min:"1" max:"1000000"`
	// tasks of one listener at once in one process; more for a while after an outage of Redis
	Tasks int `yaml:"tasks" default:"16" min:"1" max:"10000"`
	// files of large jobs made at once in one process; each may use `fold_bytes`
	Folds int `yaml:"folds" default:"4" min:"1" max:"10000"`
	// memory for the rows of one file while it is made: see [Memory](#memory)
	FoldBytes int64 `yaml:"fold_bytes" unit:"bytes" default:"128MB" min:"64KB" max:"8GB"`
	// how long a PENDING or PROCESSING record that Redis does not know is left alone before its job is started, or started again
	Grace time.Duration `yaml:"grace" default:"1m" min:"1s" why:"Records that change within this time are left alone"`
	// a worker that is silent for this long is considered dead; it renews its lease three times within it
	Lease time.Duration `yaml:"lease" default:"10s" min:"1s" max:"1h" why:"A third of it must be longer than a pause of the machine"`
	// how long work may go on after SIGTERM; what is not done then is handed back, which does not count as a try
	Stop time.Duration `yaml:"stop" default:"20s"`
	// percent of Redis's `maxmemory` above which no job is started; without a `maxmemory` it has no effect
	Memory int `yaml:"memory" default:"80" min:"1" max:"100"`
	// data of one job in Redis
	JobBytes int64 `yaml:"job_bytes" unit:"bytes" default:"1GB" min:"1MB" max:"1024GB"`
	// `zstd`: listeners store chunks compressed. It saves memory of Redis and space in its log, and takes CPU time of the listeners. All processes read both forms, so it can be changed while jobs run; processes of a version without this setting cannot read it, so change it when they are gone. `job_bytes` counts what is stored: a file is made of several times as much
	Compress bool `yaml:"compress" enum:"off,zstd" default:"off"`
	// records that a rebuild reads in a second
	Rebuild int `yaml:"rebuild" default:"500" min:"1" max:"1000000"`
	// size of a record's parameters; longer ones are not read, and the record becomes FAILED
	Parameters int64 `yaml:"parameters" unit:"bytes" default:"64KB" min:"1KB" max:"1MB"`
}
