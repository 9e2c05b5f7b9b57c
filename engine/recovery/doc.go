// Package recovery answers one question: what if Redis loses its data?
//
// After a FLUSHALL, on a new server, or in an older copy of Redis, the records in MySQL say which
// jobs to run, and a Store in MySQL has a snapshot of what otherwise only Redis knows. Any number
// of processes run a Recovery, beside an engine. It has three loops:
//
//   - watch compares the epoch in Redis with the one in MySQL every second. If they differ,
//     Redis has lost its data. If they agree, but Redis knows an older snapshot than MySQL has,
//     it is an older copy of itself. Either way the snapshot is restored: watch.go, restore.go.
//   - passes walks over the records and starts those that Redis does not know: at once after a
//     loss, and slowly all the time: pass.go.
//   - snapshots saves due times, timers and pauses in MySQL when they have changed: snapshot.go,
//     changes.go, blob.go.
//
// Every partition of Redis has its own Recovery. Move, in move.go, moves waiting work to other
// partitions while no process runs; remove.go deletes the remaining keys.
//
// Without the tables of the store, jobs are still restored; due times and timers are lost with the
// data of Redis.
package recovery
