// Package step answers one question: how is one piece of work done?
//
// A Reader reads the entries of a stream as a member of its consumer group (reader.go). It reads
// only as many entries as it has free slots, over its own connection or over one that several
// Readers share (Shared). It knows which entries are being handled here, takes over those of
// consumers that fell silent (takeover.go), creates its consumer group if that is missing, and
// survives outages of Redis. It passes entries to Handle and acknowledges them by their Results
// (dispatch.go). Decide is the whole retry policy (result.go); the delays are those of report.Retry.
//
// Single does one step with a Handler: claim, work under a lease that is renewed (lease.go), end.
// Loop, Wait, Insist and Ensure repeat everything that is not a step (loop.go).
package step
