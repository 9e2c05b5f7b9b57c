// Package scheduler answers one question: what happens because time passed?
//
// The truth about time is in sorted sets. A Scheduler has local timers on what is
// next there, and any number of Schedulers may run in any number of processes,
// since the scripts that they call do everything once:
//
//   - delayed.go moves what is due from fanfold:delayed to the streams;
//   - deadlines.go touches the wake key when the next deadline has come, so that
//     Redis publishes its end at that moment; decides, when it hears of that, that
//     the jobs fail, whose records the engine then changes; and decides the same of
//     every job whose event was not heard;
//   - lost.go finds running jobs of which Redis has lost a message or the data;
//   - progress.go tells in the hash of a job how far it is, for people;
//   - subscription.go hears what Redis tells of keys, and proves with a canary
//     that it hears.
//
// Timers fire what services set for later, beside it: timer.go, and timer_adopt.go
// for keys with a TTL, timer_fire.go for what is due, timer_action.go for what a
// firing does. Services are told of jobs in the same way: notify.go sends requests at
// their ends, receipt.go appends to the streams of services that pushed them.
//
// Events make it punctual, and nothing depends on them: every loop polls once a
// second, whatever it hears. If a server publishes nothing, a foreign ZADD that is
// due at once may wait for that second.
//
// It needs Redis and, for timers that submit, a Submitter.
package scheduler
