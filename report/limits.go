package report

import (
	"cmp"
	"time"
)

// Limits are the limits of an installation. A new one that all partitions have together is divided in Share.
type Limits struct {
	// Maximum number of jobs that run at once, in all processes together. Other ids wait in `fanfold:jobs`. Each
	// process that starts jobs at the same moment can exceed it by up to 100, unless there are `lanes`
	RunningJobs int `yaml:"running_jobs" default:"1000" min:"1" max:"1000000"`
	// Maximum number of tasks of one listener at once in one process. All listeners of a database together run at
	// most its `max_connections`, whatever this limit is; the other tasks wait without using a try. More may run for a
	// while after an outage of Redis
	Tasks int `yaml:"tasks" min:"1" max:"10000" unset:"max_connections of the listener's database; 16 for an API"`
	// Maximum number of files of large jobs that one process makes at once. Each may use `fold_memory`
	LargeFiles int `yaml:"large_files" default:"4" min:"1" max:"10000"`
	// Memory for the rows of one file while it is made: see [Memory](#memory)
	FoldMemory int64 `yaml:"fold_memory" unit:"bytes" default:"128MB" min:"64KB" max:"8GB"`
	// How long a PENDING or PROCESSING record without a job in Redis stays unchanged before Fanfold starts it by
	// itself: see [Without a push](keys.md#without-a-push)
	RecoverAfter time.Duration `yaml:"recover_after" default:"1m" min:"1s" why:"Records that change within this time are left alone"`
	// Time after which a silent worker is considered dead. Workers renew their leases three times in it
	Lease time.Duration `yaml:"lease" default:"10s" min:"1s" max:"1h" why:"A third of it must be longer than a pause of the machine"`
	// How long work may continue after SIGTERM. Then it is handed back, which does not count as a try
	ShutdownTimeout time.Duration `yaml:"shutdown_timeout" default:"20s"`
	// Percent of Redis's `maxmemory` above which no job starts. No effect without a `maxmemory`
	RedisMemoryPercent int `yaml:"redis_memory_percent" default:"80" min:"1" max:"100"`
	// Maximum size of the data of one job in Redis, as it is stored. A larger job fails
	JobBytes int64 `yaml:"job_bytes" unit:"bytes" default:"1GB" min:"1MB" max:"1024GB"`
	// Maximum size of the data of one job in the [spool](#spool), as it is stored. A larger job fails
	SpoolBytes int64 `yaml:"spool_bytes" unit:"bytes" default:"64GB" min:"1MB" max:"65536GB"`
	// `zstd` stores the data of listeners compressed in Redis. It saves memory and uses CPU time of the listeners.
	// You can change it while jobs run, because every process reads both forms. `job_bytes` counts compressed
	// bytes, so that a file can be several times as large
	Compress bool `yaml:"redis_compression" enum:"off,zstd" default:"off"`
	// Maximum number of records per second that a rebuild reads
	RebuildPerSecond int `yaml:"rebuild_per_second" default:"500" min:"1" max:"1000000"`
	// Maximum size of a record's parameters. Larger ones are not read, and the record becomes FAILED
	ParameterBytes int64 `yaml:"parameter_bytes" unit:"bytes" default:"64KB" min:"1KB" max:"1MB"`

	// Lanes are those of the installation; nil: jobs have no lanes.
	Lanes *Lanes
}

// tasksOfAPI is the default of Limits.Tasks for a listener whose source has no connections.
const tasksOfAPI = 16

// TasksOf returns the maximum number of tasks that one process runs at once of a listener whose source has this
// many connections; 0: any number.
func (l Limits) TasksOf(connections int) int {
	switch {
	case connections == 0:
		return cmp.Or(l.Tasks, tasksOfAPI)
	case l.Tasks == 0:
		return connections
	}
	return min(l.Tasks, connections)
}

// Share returns the limits of one partition in a process, at least 1 each. The limit of tasks is
// shared by all partitions.
func (l Limits) Share(partitions int) Limits {
	l.RunningJobs, l.Lanes = max(1, l.RunningJobs/partitions), l.Lanes.share(l.RunningJobs, partitions)
	l.LargeFiles, l.RebuildPerSecond = max(1, l.LargeFiles/partitions), max(1, l.RebuildPerSecond/partitions)
	return l
}
