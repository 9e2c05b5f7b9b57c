// Package recovery answers one question: what if Redis forgets?
//
// FLUSHALL, a new server, an older copy of Redis: the records in MySQL say which jobs
// are to be done, and a Store in MySQL has what only Redis knows otherwise. Any number of
// processes run a Recovery each, beside an engine. It has three loops:
//
//   - watch compares the epoch in Redis with the one in MySQL every second. If they
//     differ, Redis has lost its memory; if they agree, but Redis knows an older snapshot
//     than MySQL has, it is an older copy of itself. Either way it gets the snapshot back:
//     watch.go, restore.go.
//   - passes walks over the records and starts those that Redis does not know: at once
//     when something was lost, and slowly all the time: pass.go.
//   - snapshots saves due times, timers and pauses in MySQL, if they have changed:
//     snapshot.go, changes.go, blob.go.
//
// Each partition of Redis has a Recovery of its own. Move, in move.go, takes what waits to other
// partitions while no process runs, and remove.go deletes the keys that are left.
//
// Without the tables of the store jobs are found all the same; due times and timers are
// lost with Redis's memory.
package recovery
