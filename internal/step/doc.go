// Package step has what everybody needs who handles entries of a Redis stream
// as a member of a consumer group.
//
// A Reader reads only what it has room for, takes over what silent consumers
// left, makes its group where it is missing, and outlives outages of Redis; many of them
// can read with one connection, a Shared. It
// never acknowledges: that is the last act of whoever handles an entry. Keep
// holds on to what is being handled, and Insist repeats an effect that must
// happen first.
package step
