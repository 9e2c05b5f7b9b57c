// Package listeners answers one question: who runs queries?
//
// A Runner reads the streams of all listeners that the reports name
// (fanfold:task:<listener>), each with a step.Reader: runner.go. For each entry it claims the
// task: a first delivery needs nothing, since the stream's pending list is its lease, and a
// later one takes the task over: task.go. The listener's Source reads the data, which is
// stored chunk by chunk; the last chunk completes the task, which counts the listener once:
// work.go and writer.go. A worker whose task another one has taken over finds its next chunk
// refused.
//
// A task that fails is requeued. The error of its Source says whether it used a try: see
// Permanent, Outage and Wait in source.go. After its last try the job fails, or goes on without
// the listener, as its OnFailure says. What a task must know in its next try it remembers
// (memo.go); what it has begun elsewhere can be ended (Canceler, cancel.go). Slots and rate
// limits of a source, which all processes share, are in Redis: bound.go. How many tasks of a
// listener run at once in a process, in all partitions together, is in slots.go.
//
// The stream of an external listener is read by a service. What that says in fanfold:reply
// (reply.go) is applied by the same scripts, with the service's worker as the owner:
// external.go and worker.go. silence.go sees when a worker falls silent.
//
// Source is what to implement for a new kind of data source: listeners/mysql is the one for
// MySQL and MariaDB, listeners/http the one for HTTP APIs, and listeners/listenertest has, as
// tests, what every one must do.
package listeners
