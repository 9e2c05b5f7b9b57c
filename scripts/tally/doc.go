// Package tally answers one question: what happened in a minute, an hour or a day?
//
// Sums counts what the events of jobs tell, by report and by listener, for the script that adds it to the counters in
// Redis. A Bucket has what these counters say about a time. The package does no I/O.
package tally
