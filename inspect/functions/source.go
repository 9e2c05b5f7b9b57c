package functions

import (
	"embed"
	"fmt"
	"strings"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

const (
	// Name is that of the library.
	Name = "fanfold"
	// Version is the version of its source. Raise it with every change, so that servers get the
	// newest one.
	Version = 15
)

// Maximum work of one call.
const (
	maxJobs    = 50    // jobs that fanfold_top lists
	maxSteps   = 500   // steps of all jobs
	maxEntries = 500   // entries of one stream
	maxTotal   = 4_000 // entries of all streams
	maxSlots   = 500   // slots of one source
)

//go:embed lua/*.lua
var files embed.FS

// Source returns the source of the library.
func Source() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#!lua name=%s\n", Name)
	for _, c := range []struct {
		name  string
		value any
	}{
		{"VERSION", Version}, {"JOBS", maxJobs}, {"STEPS", maxSteps}, {"ENTRIES", maxEntries}, {"TOTAL", maxTotal}, {"SLOTS", maxSlots}, {"HOLDERS", inspect.MaxHolders}, {"POLLS", len(report.RecordPolls)},
		{"MISSED", inspect.Missed.Milliseconds()}, {"DEFINITION_SILENCE", scripts.DefinitionSilence.Milliseconds()}, {"HORIZON", scripts.Horizon.Milliseconds()},
		{"MIN_MILLIS", int64(scripts.MinMillis)}, {"NO_TIME", int64(scripts.NoTime)},
		{"LOST_EVERY", fmt.Sprintf("%q", scripts.LostEvery)}, {"LOST_JOBS", fmt.Sprintf("'%d'", scripts.LostJobs)}, {"RULES", inspect.LuaRules()},
	} {
		fmt.Fprintf(&b, "local %s = %v\n", c.name, c.value)
	}
	b.WriteString("local function int(n) return string.format('%d', n) end\n" + scripts.JobSource())
	for _, name := range []string{"words", "rules", "facts", "step", "job", "functions"} {
		text, err := files.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // the file is part of the binary
		}
		b.Write(text)
	}
	return b.String()
}
