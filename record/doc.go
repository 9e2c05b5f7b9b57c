// Package record keeps the records of jobs in a table of a database: it is
// the engine's Records. What differs between databases is a Kind (kind.go), in a package
// below this one, such as record/mysql. The table is Fanfold's own, which Migrate makes, or one
// that a service has already, with its names and values mapped.
//
// # Conditions
//
// Every change is one UPDATE that repeats in its WHERE what it starts from: the
// id, the attempt, the statuses that may be left, and the operator's filter. So
// a writer that comes late changes nothing and gets false:
//
//	Start    PENDING, PROCESSING   attempt n  →  PROCESSING, attempt n+1
//	Succeed  PROCESSING            attempt n  →  SUCCESS with file and rows
//	SucceedPartly  the same, to PARTIAL, with the reasons too
//	Fail     PENDING, PROCESSING   attempt n  →  FAILED with the reason
//	Cancel   the same, to CANCELLED
//	Retry    SUCCESS, PARTIAL, FAILED, CANCELLED  →  PENDING; attempt and file stay
//
// Start changes many records in one transaction. If fewer rows meet the condition
// than were named, it is rolled back, and the records are started one by one. What
// meets a deadlock or a lock wait that times out is retried here.
//
// When a connection breaks, nobody knows whether the change was made. The caller
// repeats it: Succeed and Fail then read the row, and answer true where it says
// already what they would write. A Start that was made and not heard of leaves a
// PROCESSING record without a job, which the rebuild starts anew.
//
// # What a table needs
//
// The columns id, report, status, attempt, file and updated must be there;
// parameters, error and rows can be mapped to "-". Parameters are a text with JSON: a column of
// MySQL's type JSON changes numbers and the order of fields; created is read if it is there. The id is an integer or a
// text and unique; attempt is an integer; updated is a DATETIME or TIMESTAMP, which is a timestamp without and with
// time zone in PostgreSQL. docs/reference/postgres.md has what else differs there.
// A DATETIME says nothing about its time zone: it is in that of the session, which
// the pool must have from whoever else writes it (Options.Zone), or ages
// are wrong by the offset. A
// row without a time counts as very old, and a status that is not mapped as
// final: it is left alone.
//
// # What outlives Redis
//
// Beside the record table are fanfold_meta and fanfold_snapshot, which MigrateTables
// makes: which memory Redis has, a snapshot of what is due later, and since when the
// sink is swept without a gap. The Store is that of engine/recovery on them.
//
// fanfold_history has what every job did, which is inserted in the transaction of its
// final status. If that is not possible, the record becomes final without it.
//
// fanfold_audit has the acts of people, which a process copies from the audit stream (acts.go).
//
// # Grants
//
// SELECT on the mapped columns and on those of the filter; UPDATE on status,
// attempt, file, updated, error and rows. Nothing else, in particular no DELETE.
// INSERT only for Insert (the demo), and for Migrate: CREATE, ALTER, INDEX,
// SELECT and INSERT on the schema.
//
// # Rows that people change in the middle of a run
//
//   - deleted: the condition finds no row. The file is removed and the job
//     settled as gone.
//   - parameters or report edited: the job keeps what it was started with. The
//     next attempt takes the new ones.
//   - status edited by hand: the condition fails, the edit stays, and the file is
//     removed. This is also how a service cancels: it sets CANCELLED.
package record
