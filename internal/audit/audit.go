// Package audit answers one question: who does what?
//
// A face (the dashboard, the API, the command line, a waiting page) puts an Actor into the context, and package
// operate appends an Act to the audit stream for every change. A change without an Actor is refused, so no face can
// forget it.
package audit

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"
)

// The faces.
const (
	Dashboard = "dashboard"
	API       = "api"
	Command   = "command"
	Link      = "link" // of a waiting page, which needs no login
)

// Answers to an act.
const (
	Done    = "done"
	Refused = "refused" // nothing was changed
	Failed  = "failed"  // a server failed: part of the change may have been made
)

// Act is one act of a person or a service, as it is stored.
type Act struct {
	Entry  string    `json:"entry"` // its id in the stream
	When   time.Time `json:"when"`  // by Redis's clock
	Who    string    `json:"who"`   // login, or user@host on the command line; empty: there is no login
	By     string    `json:"by"`    // the face
	From   string    `json:"from"`  // address; empty on the command line
	Act    string    `json:"act"`
	On     string    `json:"on"` // id of a job, or name; empty: several, or nothing
	N      int       `json:"n"`  // number of objects
	Answer string    `json:"answer"`
	Reason string    `json:"reason,omitempty"` // why it was refused or failed
	Detail string    `json:"detail,omitempty"`
}

// Fields returns the act as names and values of an entry.
func (a Act) Fields() []string {
	return []string{"who", a.Who, "by", a.By, "from", a.From, "act", a.Act, "on", a.On, "n", strconv.Itoa(a.N),
		"answer", a.Answer, "reason", a.Reason, "detail", a.Detail}
}

// Parse is the inverse of Fields for an entry.
func Parse(entry string, when time.Time, f map[string]string) Act {
	n, _ := strconv.Atoi(f["n"])
	return Act{Entry: entry, When: when, Who: f["who"], By: f["by"], From: f["from"], Act: f["act"], On: f["on"], N: n,
		Answer: f["answer"], Reason: f["reason"], Detail: f["detail"]}
}

// Actor is who acts. Do not copy it.
type Actor struct {
	Who, By, From string
	Log           *slog.Logger // of acts that Redis does not take

	noted atomic.Bool
}

// Note says that an act of the Actor gets an entry.
func (a *Actor) Note() { a.noted.Store(true) }

// Noted reports whether Note was called.
func (a *Actor) Noted() bool { return a.noted.Load() }

type key struct{}

// With returns a context in which the Actor acts.
func With(ctx context.Context, a *Actor) context.Context { return context.WithValue(ctx, key{}, a) }

// ErrNoActor is the error of an act in a context that names no Actor.
var ErrNoActor = errors.New("audit: the context does not say who acts")

// Of returns the Actor of a context, or ErrNoActor.
func Of(ctx context.Context) (*Actor, error) {
	a, ok := ctx.Value(key{}).(*Actor)
	if !ok {
		return nil, ErrNoActor
	}
	return a, nil
}
