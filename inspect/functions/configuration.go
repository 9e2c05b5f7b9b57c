package functions

import (
	"encoding/json"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// configuration is the part of Fanfold's configuration that the functions need. Libraries of any
// version read it: add fields, but never change the meaning of one. Times are in milliseconds.
type configuration struct {
	Hash        string                `json:"hash"` // prefix of the jobs' keys
	Lease       int64                 `json:"lease"`
	Grace       int64                 `json:"grace"`
	RunningJobs int                   `json:"running_jobs"`
	Memory      int                   `json:"memory"` // percent
	Home        bool                  `json:"home"`   // this partition has the slots of sources
	Reports     map[string]definition `json:"reports"`
}

// definition is a report.
type definition struct {
	Hash          string              `json:"hash"`
	Running       int                 `json:"running"` // max number of running jobs; 0: no limit
	Tries         int                 `json:"tries"`   // of fan-in
	DeadlineWaits bool                `json:"deadline_waits"`
	Restarts      bool                `json:"restarts"`
	Listeners     map[string]listener `json:"listeners"`
}

type listener struct {
	Kind    report.ListenerKind `json:"kind"`
	Source  string              `json:"source"`
	Tries   int                 `json:"tries"`
	Silence int64               `json:"silence"`
	Timeout int64               `json:"timeout"` // of a try
	Slots   int                 `json:"slots"`   // of its source; 0: no limit
}

// describe returns the configuration of a partition as JSON. The same configuration always gives the
// same text.
func describe(k scripts.Keys, home bool, limits report.Limits, config inspect.Config) string {
	c := configuration{
		Hash: k.Hash, Lease: ms(limits.Lease), Grace: ms(limits.Grace), RunningJobs: limits.RunningJobs, Memory: limits.Memory,
		Home: home, Reports: map[string]definition{},
	}
	for name, r := range config.Reports {
		d := definition{Hash: r.Hash(), Running: r.Running, Tries: r.Retry.Retries + 1, DeadlineWaits: r.DeadlineWaits, Restarts: !r.WaitOnChange, Listeners: map[string]listener{}}
		for _, l := range r.Listeners() {
			d.Listeners[l.Name] = listener{l.Kind, l.Source, l.Retry.Retries + 1, ms(l.Silence), ms(l.Timeout), config.Bounds[l.Source].Parallel}
		}
		c.Reports[name] = d
	}
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // it has only texts and numbers
	}
	return string(text)
}

func ms(d time.Duration) int64 { return d.Milliseconds() }
