package inspect

import (
	"cmp"
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/report"
)

// Kind says what a job waits for, in a word that programs can rely on.
type Kind string

// The kinds of a verdict. If several steps of a job wait, the job has the kind that comes first in
// severity.
const (
	KindRedisAway     Kind = "redis-away"     // Redis does not answer
	KindRedisDenies   Kind = "redis-denies"   // the user of Redis lacks a right
	KindWrongType     Kind = "wrong-type"     // a key of Fanfold has another type
	KindRecordsAway   Kind = "records-away"   // the records' database does not answer
	KindSourceAway    Kind = "source-away"    // the database or the API of a listener does not answer
	KindSourceRefuses Kind = "source-refuses" // the database of a listener refuses the login
	KindPaused        Kind = "paused"         // its report or a listener is paused
	KindNoDefinition  Kind = "no-definition"  // no process has the definition of the job
	KindNoScheduler   Kind = "no-scheduler"   // something is overdue
	KindNoWorker      Kind = "no-worker"      // its stream has no reader
	KindWorkerDead    Kind = "worker-dead"    // its worker is silent
	KindRetryWaiting  Kind = "retry-waiting"  // it failed and will be retried
	KindSinkFails     Kind = "sink-fails"     // the file could not be written, and will be retried
	KindLost          Kind = "lost"           // Redis has lost its message
	KindNoSlot        Kind = "no-slot"        // other tasks have all slots of its source, or of a process
	KindRateLimited   Kind = "rate-limited"   // the rate limit of its source is used up
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
	KindLooking       Kind = "looking"        // the trigger polls for its record
	KindQuarantined   Kind = "quarantined"    // its entry was quarantined
	KindStateless     Kind = "stateless"      // PROCESSING, but Redis has no state
	KindBrokenState   Kind = "broken-state"   // the key of the state contains something else
	KindSuperseded    Kind = "superseded"     // the record has another attempt than the state
	KindEnded         Kind = "ended"          // the record is final
	KindNoRecord      Kind = "no-record"      // no such row, and no trace of the id
	KindOtherID       Kind = "other-id"       // the database finds a row that has another id
	KindUnknownReport Kind = "unknown-report" // not in this configuration
)

// Verdict says why a job is not done.
type Verdict struct {
	Now      time.Time     `json:"-"` // of Redis, or of this machine if Redis does not answer
	ID       string        `json:"id"`
	Kind     Kind          `json:"kind"`
	Summary  string        `json:"summary"` // one sentence
	Details  []string      `json:"details,omitempty"`
	Status   report.Status `json:"status,omitempty"` // of the record; empty if it is not known
	Report   string        `json:"report,omitempty"`
	Attempt  int64         `json:"attempt,omitempty"`
	Job      string        `json:"job,omitempty"` // status of the state
	Stage    int64         `json:"stage,omitempty"`
	Steps    []Step        `json:"steps,omitempty"`
	Upcoming []Upcoming    `json:"upcoming,omitempty"` // by time
	Remedies []string      `json:"remedies,omitempty"`
	Commands []string      `json:"commands,omitempty"` // redis-cli commands that show the same
	Delayed  bool          `json:"-"`                  // fanfold delay run makes its id, or a step, due now
}

// Step is a part of a job that is not done.
type Step struct {
	Name  string    `json:"name"` // of the listener, or @fanin
	Kind  Kind      `json:"kind"`
	Says  string    `json:"says"`
	Try   int64     `json:"try"`             // the one that runs, ran last, or comes next
	Tries int       `json:"tries,omitempty"` // maximum; 0: unknown or unlimited
	Owner string    `json:"owner,omitempty"`
	Since time.Time `json:"since,omitzero"`
	Lease time.Time `json:"lease,omitzero"`
	Next  time.Time `json:"next,omitzero"`
	Error string    `json:"error,omitempty"` // of the last failed try
}

// Upcoming is something that will happen without an operator.
type Upcoming struct {
	At   time.Time `json:"at"`
	What string    `json:"what"`
}

// Why says what a job waits for. If a server does not answer, the verdict says so; it is no error.
func (in *Inspector) Why(ctx context.Context, id string) (Verdict, error) {
	v := diagnose(gather(ctx, in, id))
	if v.Kind == KindLost || v.Kind == KindNotPushed {
		// The entry may have moved during the search: search once more.
		v = diagnose(gather(ctx, in, id))
	}
	return v, ctx.Err()
}

const (
	// whyConcurrency is the maximum number of concurrent verdicts.
	whyConcurrency = 16
	// whyBatch is how many jobs share one set of answers. More jobs would make these too old.
	whyBatch = 200
)

// Whys returns the verdicts on ids, in their order. It reads the records, sources and streams once
// for every 200 ids.
func (in *Inspector) Whys(ctx context.Context, ids []string) ([]Verdict, error) {
	verdicts := make([]Verdict, 0, len(ids))
	for some := range slices.Chunk(ids, whyBatch) {
		batched := &Inspector{o: in.o, batch: &batch{ids: some}}
		found := make([]Verdict, len(some))
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(whyConcurrency)
		for i, id := range some {
			group.Go(func() (err error) {
				v := diagnose(gather(ctx, batched, id))
				if v.Kind == KindLost || v.Kind == KindNotPushed {
					v, err = in.Why(ctx, id) // it may have moved since a stream was read
				}
				found[i] = v
				return cmp.Or(err, ctx.Err())
			})
		}
		if err := group.Wait(); err != nil {
			return nil, err
		}
		verdicts = append(verdicts, found...)
	}
	return verdicts, nil
}

// Because returns the verdicts on ids that have a kind, up to a limit.
func (in *Inspector) Because(ctx context.Context, ids []string, kind Kind, limit int) ([]Verdict, error) {
	var found []Verdict
	for some := range slices.Chunk(ids, whyBatch) {
		verdicts, err := in.Whys(ctx, some)
		if err != nil {
			return nil, err
		}
		for _, v := range verdicts {
			if v.Kind == kind && len(found) < limit {
				found = append(found, v)
			}
		}
		if len(found) == limit {
			break
		}
	}
	return found, nil
}
