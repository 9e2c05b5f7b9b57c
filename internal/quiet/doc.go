// Package quiet answers one question: how does the log stay readable during an outage?
//
// A Watch observes the commands of a Redis client. It marks the errors of a Redis that does not
// answer with ErrDown, logs once that Redis is down and once that it is back, and extends WRONGTYPE
// errors with the key and a command to inspect it. A Handler drops lines with a marked error,
// because the Watch has logged the outage, and collapses repeated lines: it writes the first one,
// and a minute later the last one with the number of repetitions.
package quiet
