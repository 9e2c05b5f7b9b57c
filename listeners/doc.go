// Package listeners answers one question: who runs queries?
//
// Runner reads the streams of all listeners that the reports name
// (fanfold:task:<listener>). For each entry it takes the task, which makes it
// the owner, has the Source of the listener read its data, stores that chunk by
// chunk, and completes the task, which counts the listener once. While the
// source works, the owner's lease is renewed; an owner that has lost it finds
// its next chunk refused.
//
// A task that fails is requeued. The error of its Source says whether it used a try, see
// Permanent and Outage. After its last try the job fails, or goes on without the listener,
// as its OnFailure says. A task that waits for the work of another system is no failure
// (Wait): it remembers what it must know then (Task.Remember), and what it has begun
// elsewhere can be ended (Canceler).
// What all processes together ask of a source is bounded in Redis: bound.go.
//
// The stream of an external listener is read by a service. What that says, in
// fanfold:reply, is applied by the same scripts, with the service's worker as the owner:
// external.go and worker.go; silence.go sees when a worker falls silent.
//
// Source is what to implement for a new kind of data source. listeners/mysql is
// the one for MySQL and MariaDB, listeners/http the one for HTTP APIs. listeners/listenertest has what every one must do, as
// tests.
package listeners
