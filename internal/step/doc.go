// Package step answers one question: how is one piece of work done?
//
// A Reader reads the entries of a stream as a member of its consumer group (reader.go): only
// what it has slots for, from Redis or together with others (Shared). It takes over what
// silent consumers left (takeover.go), makes its group where that is missing, and outlives
// outages of Redis. It hands entries to Handle and acknowledges them by their Results
// (dispatch.go): Decide is the whole retry policy (result.go).
//
// Single does one step with a Handler: claim, work under a lease that is renewed (lease.go),
// end. Loop, Wait and Insist repeat what is no step (loop.go).
package step
