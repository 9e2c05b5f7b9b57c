package inspect

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/fold"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/scripts/job"
)

// Kept is what a job that ended without a file has left for its next attempt.
type Kept struct {
	ID        string         `json:"-"`
	Now       time.Time      `json:"-"`     // of Redis
	Until     time.Time      `json:"until"` // when the first of the datasets that would be reused expires
	Listeners []KeptListener `json:"listeners"`
}

// KeptListener says how the next attempt gets the dataset of a listener.
type KeptListener struct {
	Name   string     `json:"name"`
	Reused int64      `json:"reused_from,omitempty"` // the attempt that has read it; 0: it is read anew
	AsOf   *time.Time `json:"as_of,omitempty"`       // when it was read, if it is kept
	Why    string     `json:"why,omitempty"`         // it is read anew
}

// Kept returns what the job of a record has left for the next attempt, which reuses nothing older than within;
// job.AnyAge: as its report says. It returns nil if nothing is kept.
func (j Jobs) Kept(ctx context.Context, r engine.Record, within time.Duration) (*Kept, error) {
	definition := j.o.Config.Reports[r.Report]
	if definition == nil || definition.Keep == 0 || r.Attempt == 0 || r.Unread != nil {
		return nil, nil
	}
	s := j.o.Scripts.Of(r.ID)
	states, err := s.Kept.Read(ctx, r.ID)
	if err != nil || states[0] == nil {
		return nil, err
	}
	now, err := s.Kept.Now(ctx)
	if err != nil {
		return nil, err
	}
	parameters, err := definition.Canonical(r.Parameters, now)
	if err != nil {
		return nil, nil // its next attempt fails before it starts
	}
	kept := &Kept{ID: r.ID, Now: now}
	stored, _ := fold.Stored(definition)
	for _, reading := range job.Readings(definition, stored, states[0], parameters, within, now) {
		l := KeptListener{Name: reading.Listener, Reused: reading.Reused, Why: reading.Why}
		if !reading.At.IsZero() {
			l.AsOf = &reading.At
		}
		until := states[0].Tasks[l.Name].KeptUntil
		if l.Reused > 0 && (kept.Until.IsZero() || until.Before(kept.Until)) {
			kept.Until = until
		}
		kept.Listeners = append(kept.Listeners, l)
	}
	return kept, nil
}

// Plan says what the next attempt reuses and reads anew; empty for nil.
func (k *Kept) Plan() string {
	if k == nil {
		return ""
	}
	var reused, anew []string
	for _, l := range k.Listeners {
		if l.Reused > 0 {
			reused = append(reused, l.Name+" ("+readBy(l.Reused, *l.AsOf, k.Now)+")")
		} else {
			anew = append(anew, l.Name+" ("+l.Why+")")
		}
	}
	var parts []string
	if len(reused) > 0 {
		parts = append(parts, "reuses "+strings.Join(reused, ", "))
	}
	if len(anew) > 0 {
		parts = append(parts, "reads "+strings.Join(anew, ", "))
	}
	return strings.Join(parts, "; ")
}

// Offer says what a retry would reuse; empty: nothing.
func (k *Kept) Offer() string {
	if k == nil || k.Until.IsZero() {
		return ""
	}
	var anew []string
	for _, l := range k.Listeners {
		if l.Reused == 0 {
			anew = append(anew, l.Name)
		}
	}
	n, all := len(k.Listeners)-len(anew), len(k.Listeners)
	until := k.Until.Local().Format("15:04")
	if k.Until.Sub(k.Now) > 12*time.Hour {
		until = k.Until.Local().Format("2006-01-02 15:04")
	}
	kept := fmt.Sprintf("%d of %s are kept until %s", n, words.Count(all, "dataset"), until)
	if n == 1 {
		kept = strings.Replace(kept, " are kept", " is kept", 1)
	}
	if len(anew) == 0 {
		return kept + "; fanfold retry " + k.ID + " reads none anew"
	}
	return kept + "; fanfold retry " + k.ID + " reads only " + strings.Join(anew, ", ")
}

// Origin says which earlier attempt or job has read the dataset, and when; empty: this one has.
func (l Listener) Origin(now time.Time) string {
	if l.AsOf != nil {
		now = *l.Ended // when it was used
		return "data of an earlier job, " + readAgo(*l.AsOf, now) + " old, because " + l.Why
	}
	if l.Reused == 0 || l.Began == nil {
		return ""
	}
	return "reused from " + readBy(l.Reused, *l.Began, now)
}

func readBy(attempt int64, at, now time.Time) string {
	return fmt.Sprintf("attempt %d, read %s ago", attempt, readAgo(at, now))
}

// readAgo says roughly how long ago a time was.
func readAgo(at, now time.Time) string {
	return words.Short(max(time.Second, now.Sub(at).Round(time.Second)))
}
