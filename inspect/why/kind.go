package why

// Kind says what a job waits for, in a word that programs can rely on.
type Kind string

// The kinds of a verdict.
const (
	KindRedisAway     Kind = "redis-away"     // Redis does not answer
	KindRedisDenies   Kind = "redis-denies"   // the user of Redis lacks a right
	KindWrongType     Kind = "wrong-type"     // a key of Fanfold has another type
	KindRecordsAway   Kind = "records-away"   // the records' database does not answer
	KindSourceAway    Kind = "source-away"    // the database or the API of a listener does not answer
	KindSourceRefuses Kind = "source-refuses" // the database of a listener refuses the login
	KindPaused        Kind = "paused"         // its report, a listener or a source is paused
	KindNoDefinition  Kind = "no-definition"  // no process has the definition of the job
	KindNoScheduler   Kind = "no-scheduler"   // something is overdue
	KindNoWorker      Kind = "no-worker"      // its stream has no reader
	KindWorkerDead    Kind = "worker-dead"    // its worker is silent
	KindRetryWaiting  Kind = "retry-waiting"  // it failed and will be retried
	KindSinkFails     Kind = "sink-fails"     // the file could not be written, and will be retried
	KindSpoolFails    Kind = "spool-fails"    // the spool did not take or give rows, and will be tried again
	KindLost          Kind = "lost"           // Redis has lost its message
	KindNoSlot        Kind = "no-slot"        // other tasks have all slots of its source, or of a process
	KindRateLimited   Kind = "rate-limited"   // the rate limit of its source is used up
	KindShared        Kind = "shared"         // an equal job makes its file
	KindSourceBusy    Kind = "source-busy"    // its source is too busy for another query, or refuses calls
	KindQueued        Kind = "queued"         // others are ahead of it
	KindWaiting       Kind = "waiting"        // for an external party, such as a vendor's job
	KindRunning       Kind = "running"        // a worker has it
	KindBarrier       Kind = "barrier"        // other listeners are done, and the job waits for this one
	KindFolding       Kind = "folding"        // a worker makes the file
	KindEnding        Kind = "ending"         // the record gets its final status
	KindNotPushed     Kind = "not-pushed"     // its id was not pushed
	KindNoRoom        Kind = "no-room"        // the maximum number of jobs runs
	KindRedisFull     Kind = "redis-full"     // Redis was full, and the job waits for older ones
	KindStarting      Kind = "starting"       // the trigger is starting it
	KindDelayed       Kind = "delayed"        // it was pushed for later
	KindPolling       Kind = "polling"        // the trigger polls for its record
	KindQuarantined   Kind = "quarantined"    // its entry was quarantined
	KindStateless     Kind = "stateless"      // PROCESSING, but Redis has no state
	KindBrokenState   Kind = "broken-state"   // the key of the state contains something else
	KindSuperseded    Kind = "superseded"     // the record has another attempt than the state
	KindEnded         Kind = "ended"          // the record is final
	KindNoRecord      Kind = "no-record"      // no such row, and no trace of the id
	KindOtherID       Kind = "other-id"       // the database finds a row that has another id
	KindUnknownReport Kind = "unknown-report" // not in this configuration
)
