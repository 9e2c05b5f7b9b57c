package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// QuarantinedDetails is a quarantined entry with its fields and what to do about it.
type QuarantinedDetails struct {
	Quarantined
	Whole bool              `json:"whole"`           // all fields were kept
	Parts map[string]string `json:"parts"`           // the fields by name
	Again string            `json:"again,omitempty"` // why it would be quarantined again, if that is known
	Next  []string          `json:"next"`            // what to do
}

// Details explains a quarantined entry.
func (l Quarantine) Details(ctx context.Context, q Quarantined) (v QuarantinedDetails, err error) {
	v.Quarantined = q
	v.Parts, v.Whole = scripts.ParseExcerpt(q.Fields)
	if v.Again, err = l.again(ctx, v); err != nil {
		return v, err
	}
	origin, requeue := l.o.Scripts.Origin(q.Stream), "fanfold quarantine requeue "+q.Entry
	switch {
	case !v.Whole:
		v.Next = append(v.Next, "it was too long to be stored: send it again from its source")
	case origin == "delayed" || origin == "timers":
		v.Next = append(v.Next, requeue+" --at TIME puts it back with a correct time")
	case q.ExactID() != "":
		v.Next = append(v.Next, "fanfold submit "+q.ExactID()+
			" pushes the id as the record has it; then remove this entry")
	case v.Again != "":
		v.Next = append(v.Next, "correct the cause; then "+requeue+" puts it back")
	default:
		v.Next = append(v.Next, requeue+" puts it back")
	}
	if id := v.Parts["id"]; v.Whole && id != "" {
		v.Next = append(v.Next, "fanfold why "+id+" explains the record and its job")
	}
	v.Next = append(v.Next, "fanfold quarantine rm "+q.Entry+" removes it")
	return v, nil
}

// again returns why an entry would be quarantined again; empty: it would not, or that is
// not known.
func (l Quarantine) again(ctx context.Context, v QuarantinedDetails) (why string, err error) {
	id, origin := v.Parts["id"], l.o.Scripts.Origin(v.Stream)
	if listener, ok := strings.CutPrefix(origin, "task:"); ok && !l.knows(listener) {
		return "the configuration has no listener " + listener, nil
	}
	switch {
	case id != "" && !report.ValidID(id):
		return "its field id is missing, or does not match ^" + report.IDForm + "$: submit the right id", nil
	case origin == "fired":
		if _, _, ok := l.o.Config.Timers.Match(v.Parts["name"]); !ok {
			return report.WhyUndefined(v.Parts["name"]), nil
		}
	case origin == "jobs" && id != "":
		r, err := Jobs{l.o}.Record(ctx, id)
		switch {
		case errors.Is(err, engine.ErrNoRecord):
			return "there is no record with exactly this id", nil
		case err != nil:
			return "", err
		case !r.Status.Known():
			return fmt.Sprintf("the record has the unknown status %q", r.Status), nil
		case l.o.Config.Reports[r.Report] == nil:
			return fmt.Sprintf("report %q is not in the configuration", r.Report), nil
		}
	}
	if id == "" {
		return "", nil
	}
	s := l.o.Scripts.Of(id)
	key, kind, err := s.KeyOfWrongType(ctx, s.Keys.Job(id))
	if key != "" {
		why = key + ", the key of its state, is a " + kind + " and not a hash"
	}
	return why, err
}

// knows reports whether a report of the configuration has a listener.
func (l Quarantine) knows(listener string) bool {
	for _, r := range l.o.Config.Reports {
		if _, _, ok := r.Listener(listener); ok {
			return true
		}
	}
	return false
}
