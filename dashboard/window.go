package dashboard

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/aged"
	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/scripts/tally"
)

// window is a time until now that a picture can show.
type window struct {
	Name       string
	of         time.Duration
	bar, cell  time.Duration // that a bar and a cell of the heat map stand for
	tick       time.Duration // between two ticks of the axis
	form, date string        // of a tick: as live.js knows it, and as the server writes it
}

const day = 24 * time.Hour

var windows = []window{
	{"1 h", hour, time.Minute, time.Minute, 10 * time.Minute, "time", "15:04"},
	{"24 h", day, 15 * time.Minute, 5 * time.Minute, 3 * time.Hour, "time", "15:04"},
	{"7 d", 7 * day, 2 * time.Hour, time.Hour, day, "date", "2 Jan 15:04"},
	{"30 d", 30 * day, 6 * time.Hour, 6 * time.Hour, 5 * day, "date", "2 Jan 15:04"},
}

// windowOf returns the window that a request asks for; the last day if it names none.
func windowOf(r *http.Request) window {
	i := slices.IndexFunc(windows, func(s window) bool { return s.Name == r.FormValue("range") })
	if i < 0 {
		return windows[1]
	}
	return windows[i]
}

// buckets are what happened in a window, the oldest first.
type buckets []tally.Bucket

// tallyAge is the maximum age of what a page of counters shows, and tallyTime bounds a read.
const tallyAge, tallyTime = 10 * time.Second, 15 * time.Second

// period is what the pages of counters ask for.
type period struct{ of, step time.Duration }

// newTallies returns a cache of what happened, for all browsers.
func newTallies(in *inspect.Inspector) *aged.Cache[period, buckets] {
	return &aged.Cache[period, buckets]{
		MaxAge: tallyAge, Timeout: tallyTime,
		Ask: func(ctx context.Context, p period) (buckets, error) {
			now := time.Now()
			return in.Tally.Read(ctx, now.Add(p.step-p.of), now, p.step)
		},
	}
}

// flag is an instant of a picture: a deploy, a pause or the end of one.
type flag struct {
	X      float64
	At     time.Time
	Letter string // D, P or R; several in a picture
	Text   string
}

// flagWidth is the minimum distance of two flags in a picture.
const flagWidth = 30.0

// join adds a flag that is too close to have a place of its own.
func (f *flag) join(other flag) {
	if !strings.Contains(f.Letter, other.Letter) {
		f.Letter += other.Letter
	}
	f.Text += "; " + other.Text
}

// maxFlags is the maximum number of pauses, and of resumes, in a picture: the newest ones.
const maxFlags = 100

// newActs returns a cache of the pauses and resumes of a time.
func newActs(in *inspect.Inspector) *aged.Cache[time.Duration, []flag] {
	return &aged.Cache[time.Duration, []flag]{
		MaxAge: tallyAge, Timeout: tallyTime,
		Ask: func(ctx context.Context, of time.Duration) (flags []flag, err error) {
			for letter, name := range map[string]string{"P": "pause", "R": "resume"} {
				filter := inspect.ActFilter{Act: name, Since: time.Now().Add(-of)}
				acts, err := in.Acts.List(ctx, filter, maxFlags)
				if acts == nil {
					return nil, err
				}
				for _, a := range acts {
					if a.Answer == audit.Done {
						text := name + " " + cmp.Or(a.On, "of several")
						flags = append(flags, flag{At: a.When, Letter: letter, Text: text})
					}
				}
			}
			return flags, nil
		},
	}
}

// flags returns the pauses and deploys of a time, the oldest first.
func (b buckets) flags(acts []flag) []flag {
	all := slices.Clone(acts)
	for _, one := range b {
		for _, version := range one.Versions {
			all = append(all, flag{At: one.From, Letter: "D", Text: "version " + version})
		}
	}
	slices.SortFunc(all, func(a, b flag) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Text, b.Text)) })
	return all
}
