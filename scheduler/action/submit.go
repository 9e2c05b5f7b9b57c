package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/step"
)

// Submit inserts a record, once per firing, and pushes its id.
var Submit = Kind{
	Action: kind.Action{
		Name: "submit", Doc: "Inserts a record and pushes its id", Form: "submit: {report: …}", Records: true,
		Fields: func() any { return new(SubmitFields) }, Check: checkSubmit,
	},
	Act: submit,
}

// SubmitFields are the own fields of Submit.
type SubmitFields struct {
	// Name of a report
	Report string `yaml:"report" need:"Name one of the reports"`
	// Values of the parameters, by name, as texts
	Parameters map[string]report.Template `yaml:"parameters"` // Report.Bind turns "42" into an integer
}

func checkSubmit(t *kind.Timer) {
	own := t.Own.(*SubmitFields)
	t.CheckTemplates("parameters", own.Parameters)
	if !t.Has("report") || !t.Refers("report", own.Report, "reports", slices.Sorted(maps.Keys(t.Reports))) {
		return
	}
	r, parameters := t.Reports[own.Report], t.Get("parameters")
	known := map[string]bool{}
	for i := range r.Parameters {
		p := &r.Parameters[i]
		_, given := own.Parameters[p.Name]
		known[p.Name] = true
		switch declared := t.Reader.Of(p); {
		case declared.Wrong(), !given && declared.Raw("default").Given(): // a mistake in it has its own problem
		case !given:
			parameters.Problem(fmt.Sprintf("parameter %s of report %s is missing", p.Name, r.Name),
				"Add it, such as "+p.Name+": \"{user}\"")
		case given && p.List:
			parameters.Problem(fmt.Sprintf("%s is a list in report %s", p.Name, r.Name),
				"A timer can pass single values only: give the parameter a default and remove it here")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own.Parameters)) {
		if !known[name] {
			parameters.Problem(fmt.Sprintf("report %s has no parameter %s", r.Name, report.Shorten(name)),
				"Available: "+r.ParameterList())
		}
	}
}

func submit(ctx context.Context, t Tools, f Firing) ([]string, error) {
	own := f.Own.(*SubmitFields)
	parameters := map[string]string{}
	for name, template := range own.Parameters {
		parameters[name] = template.Fill(f.Values, nil)
	}
	text, err := json.Marshal(parameters)
	if err != nil {
		return nil, Permanent(err)
	}
	return insert(ctx, t, f, own.Report, text)
}

// Scheduled inserts the record of a schedule, once per firing, and pushes its id. It is the action of timers
// that have a Schedule.
func Scheduled(ctx context.Context, t Tools, f Firing) ([]string, error) {
	parameters, err := f.Schedule.Resolve(f.At)
	if err != nil {
		return nil, Permanent(err)
	}
	return insert(ctx, t, f, f.Schedule.Report.Name, parameters)
}

// insert inserts the record of a firing and pushes its id.
func insert(ctx context.Context, t Tools, f Firing, report string, parameters []byte) ([]string, error) {
	id, err := t.Submitter.Submit(ctx, f.Name, f.Due, report, parameters)
	if err != nil {
		return nil, err
	}
	err = step.Ensure(ctx, t.Log, "push a timer's record", func() error {
		return t.Scripts.Streams.Append(ctx, t.Scripts.Keys.Jobs, 0, "id", id)
	})
	if errors.Is(err, scripts.ErrBroken) {
		err = Permanent(err)
	}
	return []string{"record", id}, err
}
