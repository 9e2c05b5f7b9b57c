package dashboard

import (
	"cmp"
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/operate"
)

const (
	// sweepTimeout bounds a change of many dead jobs.
	sweepTimeout = 10 * time.Minute
	// maxSweeps is how many of these changes the page lists, and maxRunning how many run at once.
	maxSweeps, maxRunning = 10, 2
)

// sweep is a change of a group of dead jobs, running or ended.
type sweep struct {
	Number int
	What   string // the action, as its button names it
	Past   string // what it did to the jobs; empty: done
	Group  string
	Report string // of the jobs; empty: of several
	Noun   string // what is changed
	Page   string // path of the page that shows it
	DryRun bool
	Of     int // jobs in the group at the start; 0: unknown
	operate.Swept
	Ended bool
	Err   string
}

// ranAgain is the Past of a retry, which only pushes jobs.
const ranAgain = "run again"

// To is the path of the page with the jobs that run again; empty: none do.
func (s sweep) To() string {
	if s.Past != ranAgain || s.Done == 0 {
		return ""
	}
	return "/jobs?q=" + url.QueryEscape(s.Report)
}

// Measured reports whether Percent is known.
func (s sweep) Measured() bool { return s.Ended || s.Of > 0 }

// Percent returns how much is done.
func (s sweep) Percent() int {
	if s.Ended {
		return 100
	}
	return min(100*(s.Done+s.Would+s.left())/s.Of, 99)
}

func (s sweep) left() (n int) {
	for _, jobs := range s.Left {
		n += jobs
	}
	return n
}

// Progress returns in words what was done so far.
func (s sweep) Progress() string {
	var parts []string
	if s.DryRun {
		parts = append(parts, words.Count(s.Would, s.Noun)+" would be changed")
	} else {
		parts = append(parts, words.Count(s.Done, s.Noun)+" "+cmp.Or(s.Past, "done"))
	}
	for _, why := range slices.Sorted(maps.Keys(s.Left)) {
		parts = append(parts, words.Grouped(s.Left[why])+" unchanged: "+why)
	}
	return strings.Join(parts, "; ")
}

// sweeps are the latest changes of many jobs, the newest first. They are safe for concurrent use.
type sweeps struct {
	mu      sync.Mutex
	all     []sweep
	number  int
	ctx     context.Context // of Run; nil: Run was not called yet
	running sync.WaitGroup
}

// begin allows changes until ctx ends.
func (s *sweeps) begin(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx = ctx
}

func (s *sweeps) wait() { s.running.Wait() }

// on returns those that a page shows.
func (s *sweeps) on(page string) []sweep {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.all), func(one sweep) bool { return one.Page != page })
}

// start runs do in the background, as acts of who sent the request. It reports its progress. Then start calls end with
// the result. If too many changes are running, the error is fault.Refused.
func (s *sweeps) start(
	request context.Context, one sweep, do func(context.Context, func(operate.Swept)) (operate.Swept, error),
	end func(sweep),
) error {
	actor, err := audit.Of(request)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, other := range s.all {
		if !other.Ended {
			n++
		}
	}
	if s.ctx == nil || s.ctx.Err() != nil || n >= maxRunning {
		return fault.Refused.New("%d changes of many jobs are already running: try again when one of them has ended", n)
	}
	s.number++
	one.Number = s.number
	if s.all = slices.Insert(s.all, 0, one); len(s.all) > maxSweeps {
		last := len(s.all) - 1
		for !s.all[last].Ended { // ends, as at most maxRunning have not ended
			last--
		}
		s.all = slices.Delete(s.all, last, last+1)
	}
	update := func(set func(*sweep)) (now sweep) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for i := range s.all {
			if s.all[i].Number == one.Number {
				set(&s.all[i])
				now = s.all[i]
			}
		}
		return now
	}
	actor.Note() // in the background
	ctx, cancel := context.WithTimeout(audit.With(s.ctx, actor), sweepTimeout)
	s.running.Go(func() {
		defer cancel()
		swept, err := do(ctx, func(soFar operate.Swept) { update(func(t *sweep) { t.Swept = soFar }) })
		end(update(func(t *sweep) {
			t.Swept, t.Ended = swept, true
			if err != nil {
				t.Err = err.Error()
			}
		}))
	})
	return nil
}
