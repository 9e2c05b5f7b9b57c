package why

import (
	"time"

	"github.com/fanfold/fanfold/report"
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
