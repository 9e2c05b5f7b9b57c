// Package scheduler answers one question: what happens because time passed?
//
// The truth about time is in sorted sets. A Scheduler has local timers for their next scores. Any
// number of Schedulers may run in any number of processes, because the scripts that they call do
// everything once:
//
//   - delayed.go moves due members of fanfold:delayed to their streams;
//   - deadlines.go touches the wake key when the next deadline has passed, so that Redis
//     publishes its expiry at that moment. When that event arrives, it fails the jobs, whose
//     records the engine then changes. A sweep fails jobs whose event was missed;
//   - lost.go finds running jobs of which Redis has lost a message or the data;
//   - progress.go writes into the hash of a job how far it is, for people;
//   - tally.go counts what happens to jobs, by the minute, hour and day;
//   - subscription.go receives keyspace notifications, and checks with a canary that they
//     arrive.
//
// Timers run what services have scheduled: timer.go, timer_adopt.go for keys with a TTL,
// timer_fire.go for due timers, and timer_action.go for their firings, whose actions are in package
// action. Services are notified of jobs in the same way: notify.go sends requests when jobs end,
// receipt.go appends to the streams of services that pushed ids.
//
// Events make it punctual, but nothing depends on them: every loop polls once a second. If a server
// publishes no events, a service's ZADD that is due at once may wait for that second.
//
// It needs Redis and, for timers that submit, a Submitter.
package scheduler
