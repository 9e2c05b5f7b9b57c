package inspect

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/report"
)

// Kind is what keeps a job, in a word that programs can rely on.
type Kind string

// The kinds of a verdict. Those of steps are in the order in which they matter:
// the first one of a job's steps is the job's.
const (
	KindRedisAway     Kind = "redis-away"     // nothing can go on
	KindWrongType     Kind = "wrong-type"     // another key stands where one of Fanfold's should be
	KindRecordsAway   Kind = "records-away"   // the records' database does not answer
	KindSourceAway    Kind = "source-away"    // the database or the API of a listener does not answer
	KindSourceRefuses Kind = "source-refuses" // the database of a listener refuses the login
	KindPaused        Kind = "paused"         // what it waits for is paused
	KindNoDefinition  Kind = "no-definition"  // no process has the definition that it was started with
	KindNoScheduler   Kind = "no-scheduler"   // something was due and was not moved
	KindNoWorker      Kind = "no-worker"      // its stream has no reader
	KindWorkerDead    Kind = "worker-dead"    // who had it is silent
	KindRetryWaiting  Kind = "retry-waiting"  // it failed and will be tried again
	KindSinkFails     Kind = "sink-fails"     // the file could not be made, and will be tried again
	KindLost          Kind = "lost"           // nothing in Redis leads to it
	KindQueued        Kind = "queued"         // others are before it
	KindWaiting       Kind = "waiting"        // for a third party, such as a vendor's job
	KindRunning       Kind = "running"        // a worker has it
	KindBarrier       Kind = "barrier"        // others are done, and it is waited for
	KindFolding       Kind = "folding"        // the file is being made
	KindEnding        Kind = "ending"         // the record gets its final status
	KindNotPushed     Kind = "not-pushed"     // its id was not pushed
	KindNoRoom        Kind = "no-room"        // as many jobs run as may
	KindStarting      Kind = "starting"       // the trigger has it
	KindDelayed       Kind = "delayed"        // it was pushed for later
	KindLooking       Kind = "looking"        // the trigger polls for its record
	KindQuarantined   Kind = "quarantined"    // it was put aside
	KindStateless     Kind = "stateless"      // PROCESSING, and Redis knows nothing of it
	KindBrokenState   Kind = "broken-state"   // the key of the state is something else
	KindSuperseded    Kind = "superseded"     // the record has another attempt than the state
	KindEnded         Kind = "ended"          // the record is final
	KindNoRecord      Kind = "no-record"      // no such row, and no trace of the id
	KindOtherID       Kind = "other-id"       // the database finds a row that has another id
	KindUnknownReport Kind = "unknown-report" // not in this configuration
)

// Verdict is the answer to why a job is not done.
type Verdict struct {
	Now      time.Time     `json:"-"` // by the clock that times are compared with
	ID       string        `json:"id"`
	Kind     Kind          `json:"kind"`
	Summary  string        `json:"summary"` // one sentence
	Details  []string      `json:"details,omitempty"`
	Status   report.Status `json:"status,omitempty"` // of the record; empty where it is not known
	Report   string        `json:"report,omitempty"`
	Attempt  int64         `json:"attempt,omitempty"`
	Job      string        `json:"job,omitempty"` // status of the state
	Stage    int64         `json:"stage,omitempty"`
	Steps    []Step        `json:"steps,omitempty"`
	Upcoming []Upcoming    `json:"upcoming,omitempty"` // by time
	Remedies []string      `json:"remedies,omitempty"`
	Commands []string      `json:"commands,omitempty"` // for a shell; they show the same
}

// Step is a part of a job that is not done.
type Step struct {
	Name  string    `json:"name"` // of the listener, or @fanin
	Kind  Kind      `json:"kind"`
	Says  string    `json:"says"`
	Try   int64     `json:"try"`             // that runs, ran last, or comes next
	Tries int       `json:"tries,omitempty"` // maximum; 0: not known here, or without limit
	Owner string    `json:"owner,omitempty"`
	Since time.Time `json:"since,omitzero"`
	Lease time.Time `json:"lease,omitzero"`
	Next  time.Time `json:"next,omitzero"`
	Error string    `json:"error,omitempty"` // of the last try that failed
}

// Upcoming is something that will happen by itself.
type Upcoming struct {
	At   time.Time `json:"at"`
	What string    `json:"what"`
}

// Why says what keeps a job. A server that is away is an answer, and no error.
func (in *Inspector) Why(ctx context.Context, id string) (Verdict, error) {
	v := diagnose(gather(ctx, in, id))
	if v.Kind == KindLost || v.Kind == KindNotPushed {
		// What moved during the search is not lost: search once more.
		v = diagnose(gather(ctx, in, id))
	}
	return v, ctx.Err()
}

const (
	// whyAtOnce is how many jobs are asked about at once.
	whyAtOnce = 16
	// whyTogether is how many jobs share what is asked once: it must not be old.
	whyTogether = 200
)

// Whys returns what Why does for each of some ids, in their order. The record database is asked
// once for 200 of them, and so are sources and streams.
func (in *Inspector) Whys(ctx context.Context, ids []string) ([]Verdict, error) {
	verdicts := make([]Verdict, 0, len(ids))
	for some := range slices.Chunk(ids, whyTogether) {
		together := &Inspector{o: in.o, batch: &batch{ids: some}}
		found := make([]Verdict, len(some))
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(whyAtOnce)
		for i, id := range some {
			group.Go(func() (err error) {
				v := diagnose(gather(ctx, together, id))
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

// Because returns the verdicts on some ids that are of a kind, up to a limit.
func (in *Inspector) Because(ctx context.Context, ids []string, kind Kind, limit int) ([]Verdict, error) {
	var found []Verdict
	for some := range slices.Chunk(ids, whyTogether) {
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

// Stamp writes a time for people: theirs, with its zone.
func Stamp(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 -07:00") }

// When says how far a time is from now.
func When(at, now time.Time) string {
	d := at.Sub(now)
	if d < 0 {
		return Short(-d) + " ago"
	}
	return "in " + Short(d)
}

// Short is a duration that people can read.
func Short(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// Count is a number of things: 1 job, 2 jobs, 2 entries.
func Count[T int | int64 | float64](n T, one string) string {
	text := strconv.FormatFloat(float64(n), 'f', 0, 64) + " "
	if stem, ok := strings.CutSuffix(one, "y"); ok && n != 1 {
		return text + stem + "ies"
	} else if n != 1 {
		return text + one + "s"
	}
	return text + one
}
