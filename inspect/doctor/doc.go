// Package doctor answers what is wrong with what the configuration names: the servers of
// Redis, the databases and APIs of listeners, the records, the sink and the scratch folder.
//
// Examine makes the checks one after the other, each within a time of its own, so that a
// server that hangs fails alone. A check ends as a Finding: PASS, WARN where Fanfold works but
// not as well as it could, or FAIL where it does not work or will lose something, with a hint
// that says what helps. redis.go checks the servers and whether they publish keyspace
// events, partitions.go where the partitions are, work.go and streams.go what lies in Redis,
// sources.go what listeners query, records.go the record table, startable.go what a rebuild
// would start, and files.go where files go.
package doctor
