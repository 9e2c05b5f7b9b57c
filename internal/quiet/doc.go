// Package quiet answers one question: how does an outage not fill the log?
//
// A Watch sees all that a Redis client does. It marks the errors of a Redis that does not
// answer with ErrDown, says once that Redis is down and once that it is back, and adds to
// errors of the wrong type which key has it and how to look at it. A Handler drops lines
// whose error is marked, since the Watch has said it, and counts others that repeat
// themselves: the first is written, and once a minute how many more there were.
package quiet
