// Package listeners answers who runs queries: a Runner executes the tasks of listeners.
//
// A Runner reads the stream of every listener in the reports (fanfold:task:<listener>) with a
// step.Reader (runner.go). For every entry it claims the task (task.go): the first delivery needs
// no command, because the pending list of the stream is its lease, and a later one takes the task
// over. The Source of the listener reads the data, which is stored chunk by chunk. The last chunk
// completes the task and counts the listener once (work.go, writer.go). output.go decides whether the
// chunks lie in Redis or in the spool. If another worker has taken the task over, the next one is refused.
// divide.go reads a listener in parts, on several connections (Divider), into the spool.
//
// A failed task is requeued. The error of its Source decides whether it used a try: see Permanent,
// Outage and Wait in source.go. After the last try the job uses older rows of the listener, if it may and
// there are some (fallback.go). Otherwise it fails, or continues without the listener if that is Optional.
// A task stores what its next try needs in a memo (memo.go). Work that it started elsewhere can be
// cancelled (Canceler, cancel.go).
//
// Redis has the slots and rate limits of a source, which all processes share (bound.go). A task waits
// in its worker, in line, for a slot: requeued, it would be behind younger tasks. No query begins on a
// database that is too busy (Guards, protect.go), and no process calls an API that refuses calls
// (Backoff, backoff.go). slots.go limits the tasks of a listener in one process, over all
// partitions. memory.go decides which job goes on in a full Redis.
//
// A service reads the stream of an external listener and sends replies to fanfold:reply (reply.go).
// The same scripts apply them, with the worker of the service as the owner (external.go, worker.go, and
// handin.go for segments in the spool). silence.go detects silent workers. A worker without Redis does
// the same over HTTP: desk.go claims tasks for it and applies what it sends; listeners/worker has the
// requests.
//
// To add a kind of data source, implement Source and run the tests of listeners/listenertest over
// it. listeners/mysql is the model. Divider and Measured are optional.
package listeners
