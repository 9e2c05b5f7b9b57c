package report

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// Lanes give tenants and classes of jobs fair turns.
type Lanes struct {
	// Parameter of the reports whose value names the lane of a job, such as the tenant, or `{column: NAME}` for a
	// column of the records. Jobs of a report without the parameter, and those without a value, share a lane, which
	// is shown as `-`
	By LaneBy `yaml:"by" unset:"one lane"`
	// Maximum number of running jobs of one lane, in all processes together
	Running int `yaml:"running" min:"1" max:"1000000" unset:"unlimited"`
	// Turns of a lane in the rotation, by the value that names it. A lane that is not listed has 1
	Weights []LaneWeight `yaml:"weights" unset:"none"`
	// Classes of reports, by a name that you choose. A report names its class in its field `class`; the others
	// are in a class without limit, of weight 1, which is shown as `-`
	Classes []Class `yaml:"classes" min:"1"`

	// RunningJobs is the limit of all classes together.
	RunningJobs int
}

// LaneBy says what names the lane of a job.
type LaneBy struct {
	// Parameter of the reports
	Parameter string `yaml:"parameter" short:"" form:"parameter"`
	// Column of the records, instead of a parameter. Fanfold only reads it
	Column string `yaml:"column" form:"column"`
}

// LaneWeight is the weight of a lane.
type LaneWeight struct {
	Lane string `key:"lane"`
	// Turns in the rotation
	Weight int `yaml:"weight" short:"" default:"1" min:"1" max:"1000"`
}

// Class is a class of jobs.
type Class struct {
	Name string `key:"class"`
	// Maximum number of running jobs of the class, in all processes together
	Running int `yaml:"running" min:"1" max:"1000000" unset:"unlimited"`
	// Turns of every lane of the class, compared with those of other classes
	Weight int `yaml:"weight" default:"1" min:"1" max:"1000"`
}

// NoLane is the name of the lane and of the class of jobs that have none.
const NoLane = "-"

// share returns the limits of one partition, at least 1 each. Nil has none.
func (l *Lanes) share(runningJobs, partitions int) *Lanes {
	if l == nil {
		return nil
	}
	share := *l
	share.RunningJobs = max(1, runningJobs/partitions)
	share.Running = shareOf(l.Running, partitions)
	share.Classes = slices.Clone(l.Classes)
	for i := range share.Classes {
		share.Classes[i].Running = shareOf(share.Classes[i].Running, partitions)
	}
	return &share
}

// shareOf returns the share of one partition; 0 stays without limit.
func shareOf(limit, partitions int) int {
	if limit == 0 {
		return 0
	}
	return max(1, limit/partitions)
}

// All returns the classes: the one of jobs that have none first.
func (l *Lanes) All() []Class { return append([]Class{{Name: NoLane, Weight: 1}}, l.Classes...) }

// Of returns the class of a report. It is that of jobs without a class if there is none of this name.
func (l *Lanes) Of(r *Report) Class {
	all := l.All()
	return all[max(0, slices.IndexFunc(all, func(c Class) bool { return r != nil && c.Name == r.Class }))]
}

// Value returns what names the lane of a job: a parameter, of those that Canonical returns, or the value of the
// column. A parameter that is not a text is written as JSON.
func (l *Lanes) Value(parameters []byte, column string) string {
	if l.By.Column != "" {
		return column
	}
	if l.By.Parameter == "" {
		return ""
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(parameters, &all) != nil {
		return ""
	}
	var text string
	if raw := all[l.By.Parameter]; json.Unmarshal(raw, &text) != nil && string(raw) != "null" {
		text = string(raw)
	}
	return text
}

// Stride is the distance between two turns of a lane in a class.
func (l *Lanes) Stride(c Class, value string) int {
	weight := max(1, c.Weight)
	for _, w := range l.Weights {
		if w.Lane == value {
			weight *= w.Weight
		}
	}
	return max(1, stride/weight)
}

// stride is that of weight 1.
const stride = 1_000_000

// maxLane is the maximum length of the name of a lane.
const maxLane = 64

// LaneName returns the name of the lane of a value, which Redis has: what is not a letter, a digit or one of
// _ . @ : - is percent-encoded, and a digest ends a name that is too long.
func LaneName(value string) string {
	switch value {
	case "":
		return NoLane
	case NoLane:
		return "%2D"
	}
	var b strings.Builder
	for i := range len(value) {
		if c := value[i]; c < 0x80 && strings.IndexByte("_.@:-", c) >= 0 || isAlphanumeric(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	name := b.String()
	if len(name) <= maxLane {
		return name
	}
	h := fnv.New128a()
	_, _ = h.Write([]byte(value))
	sum := hex.EncodeToString(h.Sum(nil))
	return name[:maxLane-1-len(sum)] + "~" + sum
}

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// LaneText returns what people read for the name of a lane.
func LaneText(name string) string {
	if text, err := url.PathUnescape(name); err == nil && !strings.ContainsFunc(text, unicode.IsControl) {
		return text
	}
	return name
}
