// Package stream reads a Redis stream as a member of a consumer group.
//
// A Reader reads only what it has room for, takes over what silent consumers
// left, makes its group where it is missing, and outlives outages of Redis. It
// never acknowledges: that is the last act of whoever handles an entry.
package stream
