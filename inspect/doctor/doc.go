// Package doctor answers whether everything that the configuration names works: the Redis servers,
// the databases and APIs of listeners, the records, the sink, the spool and the scratch folder.
//
// Examine runs the table of checks (doctor.go) one after the other, each with its own timeout, so that a server
// that hangs does not stop the others. It leaves out a check if one that it needs has failed. Every check returns
// a Finding: PASS, WARN if Fanfold works but could work better, or FAIL if it does not work or will lose
// something. A hint names the remedy.
//
// The checks are in redis.go (servers and keyspace events), partitions.go (their distribution over
// masters), work.go and streams.go (the contents of Redis), sources.go (databases, APIs and
// queries), records.go (the record table), startable.go (records that a rebuild would start),
// files.go (the sink and the scratch folder) and spool.go.
package doctor
