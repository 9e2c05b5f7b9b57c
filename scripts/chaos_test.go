package scripts

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts/job"
)

// TestManyWorkersThatDie: workers that run at the same time die, fall silent for longer than
// it takes others to take their entries over, and repeat calls whose answers were lost. Every
// job ends once, with one whole dataset of every listener, and nothing is left. Some datasets lie in the
// spool, whose segments are damaged now and then.
func TestManyWorkersThatDie(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	const jobs, seed = 120, 1
	c := &chaos{t: t, s: s, files: map[string]string{}}
	for _, step := range steps {
		client.XGroupCreateMkStream(ctx, c.stream(step), Group, "0")
	}
	starts := make([]Start, jobs)
	for i := range starts {
		starts[i] = attempt(fmt.Sprint(i), time.Hour, "a,b")
	}
	if outcomes, err := s.Jobs.Start(ctx, "", starts...); err != nil || outcomes[0] != OK {
		t.Fatal(outcomes, err)
	}
	work, stop := context.WithCancel(ctx)
	var workers sync.WaitGroup
	for n := range 12 {
		workers.Go(func() {
			w := &chaosWorker{chaos: c, name: fmt.Sprint("w", n), step: steps[n%len(steps)], random: rand.New(rand.NewPCG(seed, uint64(n)))}
			for work.Err() == nil {
				w.once(work)
			}
		})
	}
	workers.Go(func() {
		for work.Err() == nil {
			c.moveAll(work)
			pause(work, 5*time.Millisecond)
		}
	})
	for !c.over(ctx) {
		if pause(ctx, 20*time.Millisecond); ctx.Err() != nil {
			t.Error("it does not end")
			break
		}
	}
	stop()
	workers.Wait()
	finished := map[any]int{}
	for _, e := range client.XRange(t.Context(), s.Keys.Events, "-", "+").Val() {
		if e.Values["event"] == "finished" {
			finished[e.Values["id"]]++
		}
	}
	for i := range jobs {
		id := fmt.Sprint(i)
		if finished[id] != 1 || c.files[id] == "" {
			t.Errorf("job %s has ended %d times, with %q", id, finished[id], c.files[id])
		}
	}
	t.Logf("%d takeovers, %d refusals, %d repeated calls, %d listeners that ran again", c.takeovers, c.refused, c.repeated, c.reopened)
	if c.takeovers == 0 || c.refused == 0 || c.repeated == 0 || c.reopened == 0 {
		t.Error("the test is not what it says")
	}
}

// chaos is what the workers share.
type chaos struct {
	t  *testing.T
	s  *Scripts
	mu sync.Mutex

	files                        map[string]string // by job
	takeovers, refused, repeated int
	tries, reopened              int
}

func (c *chaos) stream(step string) string {
	switch step {
	case job.StepFanIn:
		return c.s.Keys.FanIn
	case stepLarge:
		return c.s.Keys.FanInLarge
	}
	return c.s.Keys.Task(step)
}

// count adds to a counter.
func (c *chaos) count(n *int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	*n++
	return *n
}

// over tells whether nothing is left.
func (c *chaos) over(ctx context.Context) bool {
	left := c.s.rdb.ZCard(ctx, c.s.Keys.Deadlines).Val() + c.s.rdb.ZCard(ctx, c.s.Keys.Delayed).Val()
	for _, step := range steps {
		left += c.s.rdb.XLen(ctx, c.stream(step)).Val()
	}
	return left == 0
}

// pause waits, at most until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// moveAll moves what is due.
func (c *chaos) moveAll(ctx context.Context) {
	due, err := c.s.Clock.Due(ctx, 100, 0)
	if err != nil {
		return
	}
	for _, member := range due.Members {
		later, err := job.ParseLater(member)
		if err != nil {
			c.t.Error(err)
			continue
		}
		step, listener := job.StepFanIn, ""
		if later.Step[0] != '@' {
			step, listener = later.Step, later.Step
		}
		move := Move{Member: member, ID: later.ID, Field: "attempt", Value: fmt.Sprint(later.Attempt)}
		if _, unknown, err := c.s.Clock.Move(ctx, c.stream(step), listener, []Move{move}); err == nil && len(unknown) > 0 {
			c.t.Error(unknown)
		}
	}
}

// chaosWorker does steps of one kind.
type chaosWorker struct {
	*chaos
	name, step string
	random     *rand.Rand
}

// errDies ends the work for an entry.
var errDies = errors.New("the worker dies")

// idle is after how long an entry is taken over.
const idle = 30 * time.Millisecond

// call runs a script, perhaps late or twice, or dies before it or after it.
func (w *chaosWorker) call(ctx context.Context, f func() (Outcome, error)) (Outcome, error) {
	dice := w.random.IntN(100)
	if dice < 5 {
		return 0, errDies
	}
	if dice < 15 {
		pause(ctx, 2*idle)
	}
	outcome, err := f()
	if dice >= 15 && dice < 25 && err == nil {
		w.count(&w.repeated)
		outcome, err = f()
	}
	if dice >= 25 && dice < 30 && err == nil {
		return 0, errDies
	}
	if err == nil && outcome <= Busy {
		w.count(&w.refused)
	}
	return outcome, err
}

// once works on an entry, if there is one.
func (w *chaosWorker) once(ctx context.Context) {
	stream := w.stream(w.step)
	silent, entries := false, []redis.XMessage(nil)
	if w.random.IntN(3) == 0 {
		taken, _, err := w.s.rdb.XAutoClaim(ctx, &redis.XAutoClaimArgs{Stream: stream, Group: Group, Consumer: w.name, MinIdle: idle, Start: "0", Count: 1}).Result()
		if silent = err == nil && len(taken) > 0; silent {
			entries = taken
			w.count(&w.takeovers)
		}
	}
	if !silent {
		found, err := w.s.rdb.XReadGroup(ctx, &redis.XReadGroupArgs{Group: Group, Consumer: w.name, Streams: []string{stream, ">"}, Count: 1, Block: 10 * time.Millisecond}).Result()
		if err != nil {
			return
		}
		entries = found[0].Messages
	}
	fields := map[string]string{}
	for name, value := range entries[0].Values {
		fields[name], _ = value.(string)
	}
	entry := Entry{Stream: stream, Consumer: w.name, ID: entries[0].ID, Fields: fields}
	m, ok := entry.Message()
	if !ok {
		w.t.Error(fields)
		return
	}
	var err error
	if isFold(w.step) {
		err = w.fold(ctx, m, entry, fields, silent)
	} else {
		err = w.task(ctx, m, entry, silent)
	}
	if err != nil && !errors.Is(err, errDies) && ctx.Err() == nil {
		w.t.Error(err)
	}
}

// told acknowledges an entry for which nothing is left to do.
func (w *chaosWorker) told(ctx context.Context, e Entry, outcome Outcome) error {
	if outcome != Gone && outcome != Already {
		return nil
	}
	return w.s.Streams.Ack(ctx, e.Stream, e.ID)
}

func (w *chaosWorker) task(ctx context.Context, m Message, e Entry, silent bool) error {
	task, first := w.s.Tasks.New(m, w.step, e)
	try := w.count(&w.tries)
	if !first || silent {
		take := Take{Owner: fmt.Sprint(w.name, "/", try), Known: []string{"d"}, Redelivered: silent}
		outcome, err := w.call(ctx, func() (Outcome, error) { return task.Take(ctx, take) })
		if err != nil || outcome != OK {
			return errors.Join(err, w.told(ctx, e, outcome))
		}
	}
	if w.random.IntN(10) == 0 {
		again := Requeue{Delay: time.Duration(w.random.IntN(20)) * time.Millisecond, Counts: true, Error: "later"}
		_, err := w.call(ctx, func() (Outcome, error) { return task.Requeue(ctx, again) })
		return err
	}
	// Every chunk says which try has made it.
	chunks := int64(w.random.IntN(4) + 1)
	if w.random.IntN(3) == 0 {
		return w.spool(ctx, task, e, chunks, try)
	}
	for n := range chunks - 1 {
		outcome, err := w.call(ctx, func() (Outcome, error) { return task.Append(ctx, chunkOf(n, fmt.Sprint(try))) })
		if err != nil || outcome < OK {
			return errors.Join(err, w.told(ctx, e, outcome))
		}
	}
	if w.random.IntN(4) == 0 {
		if outcome, err := w.call(ctx, func() (Outcome, error) { return task.Renew(ctx) }); err != nil || outcome != OK {
			return err
		}
	}
	_, err := w.call(ctx, func() (Outcome, error) { return task.Complete(ctx, chunkOf(chunks-1, fmt.Sprint(try)), 0) })
	return err
}

// spool lists segments of one chunk, which say which try has made them, and completes the task.
func (w *chaosWorker) spool(ctx context.Context, task *Task, e Entry, chunks int64, try int) error {
	for n := range chunks {
		segment := segmentOf(fmt.Sprint("file:///s/", try, "="), n, fmt.Sprintf("1,1,9,%08x", try))
		outcome, err := w.call(ctx, func() (Outcome, error) { return task.List(ctx, segment) })
		if err != nil || outcome < OK {
			return errors.Join(err, w.told(ctx, e, outcome))
		}
	}
	_, err := w.call(ctx, func() (Outcome, error) { return task.Complete(ctx, Chunk{Number: chunks - 1}, 0) })
	return err
}

func (w *chaosWorker) fold(ctx context.Context, m Message, e Entry, fields map[string]string, silent bool) error {
	var stage int64
	_, _ = fmt.Sscan(fields["stage"], &stage)
	var f *Fold
	if !silent && fields["bytes"] != "" {
		folds, err := w.s.Folds.Open(ctx, []Small{{Message: m, Stage: stage, Entry: e}})
		if err != nil {
			return err
		}
		f = folds[0]
	}
	if f == nil {
		claim := Claim{Message: m, Stage: stage, Worker: fmt.Sprint(w.name, "/", w.count(&w.tries)), Known: []string{"d"}, Redelivered: silent, Entry: e}
		outcome, err := w.call(ctx, func() (outcome Outcome, err error) {
			outcome, f, err = w.s.Folds.Claim(ctx, claim)
			return outcome, err
		})
		if err != nil || outcome != OK {
			return errors.Join(err, w.told(ctx, e, outcome))
		}
	}
	for name, is := range f.Tasks {
		if is.At == "" || f.Status == job.StatusPublishing || w.random.IntN(8) > 0 {
			continue
		}
		w.count(&w.reopened)
		again := Reopen{m, name, is.At, "damaged", time.Duration(w.random.IntN(20)) * time.Millisecond}
		outcome, err := w.call(ctx, func() (Outcome, error) { return w.s.Folds.Reopen(ctx, again) })
		switch outcome {
		case OK:
			outcome = Gone // nothing is left to do for the entry
		case Already:
			outcome = Busy // another worker may have claimed the job with this entry
		}
		return errors.Join(err, w.told(ctx, e, outcome))
	}
	if f.Stage == 1 && len(f.ID)%2 == 0 && f.Status != job.StatusPublishing {
		_, err := w.call(ctx, func() (Outcome, error) { return f.Advance(ctx, []string{"c"}) })
		return err
	}
	file, err := w.join(ctx, f)
	if err != nil {
		return nil // the job has gone on meanwhile
	}
	if w.random.IntN(10) == 0 && f.claimed {
		_, err := w.call(ctx, func() (Outcome, error) { return f.Requeue(ctx, job.StepFanIn, Requeue{Counts: true, Error: "later"}) })
		return err
	}
	outcome, err := w.call(ctx, func() (Outcome, error) {
		outcomes, err := w.s.Folds.Publish(ctx, f)
		return append(outcomes, 0)[0], err
	})
	if err != nil || outcome != OK {
		return errors.Join(err, w.told(ctx, e, outcome))
	}
	w.mu.Lock()
	if before := w.files[f.ID]; before != "" && before != file {
		w.t.Errorf("job %s has the files %q and %q", f.ID, before, file)
	}
	w.files[f.ID] = file
	w.mu.Unlock()
	_, err = w.call(ctx, func() (Outcome, error) {
		outcomes, err := w.s.Folds.Settle(ctx, End{f, "SUCCESS", "x", false})
		return append(outcomes, 0)[0], err
	})
	return err
}

// join reads all data of a job, and fails the test if a dataset is of several tries.
func (w *chaosWorker) join(ctx context.Context, f *Fold) (string, error) {
	var file strings.Builder
	for _, listener := range []string{"a", "b", "c"} {
		is, ok := f.Tasks[listener]
		if !ok {
			continue
		}
		fmt.Fprintf(&file, "%s: %d×", listener, is.Chunks)
		if is.At != "" {
			words := strings.Split(is.At, " ")
			if int64(len(words)) != is.Chunks+1 || len(slices.Compact(slices.Clone(words[1:]))) != 1 {
				w.t.Errorf("%d chunks of %s of job %s lie at %s", is.Chunks, listener, f.ID, is.At)
			}
			file.WriteString(words[1] + " ")
			continue
		}
		var first string
		for n := range is.Chunks {
			fields, err := f.Stored(listener).Get(ctx, []string{"c"}, n)
			if err != nil {
				return "", err
			}
			if n == 0 {
				first = string(fields[0])
			}
			if string(fields[0]) != first {
				w.t.Errorf("chunk %d of %s of job %s is %s, the first one %s", n, listener, f.ID, fields[0], first)
			}
		}
		file.WriteString(first + " ")
	}
	return file.String(), nil
}
