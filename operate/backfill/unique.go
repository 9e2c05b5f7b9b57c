package backfill

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

// createUnique is operate.Jobs.Create for parameters that no older record of the report has: calls at the same time,
// and calls within record.KeptRequests, create one record. before is true if another call has created it. A record
// that was deleted does not count.
func createUnique(ctx context.Context, jobs operate.Jobs, name string,
	parameters []byte) (id string, before bool, err error) {
	sum := sha256.Sum256(append([]byte(name+"\x00"), parameters...))
	of := record.Request{Report: name, Parameters: parameters}
	for n := 1; ; n++ { // the number of records with these parameters that were deleted recently, and one
		id, before, err = jobs.CreateOnce(ctx, fmt.Sprintf("unique/%x/%d", sum, n), of)
		if !errors.Is(err, fault.Gone) {
			return id, before, err
		}
	}
}

// formOf returns the parameters of a record in one form, with defaults, so that equal parameters are equal texts.
// Relative dates stay as they are: they are equal only to themselves. ok is false if the report does not take the
// parameters.
func formOf(r *report.Report, raw []byte, now time.Time) (form string, ok bool) {
	given, err := report.ParameterFields(raw)
	if err != nil {
		return "", false
	}
	for _, p := range r.Parameters {
		if _, ok := given[p.Name]; !ok && p.Default != nil {
			given[p.Name] = json.RawMessage(*p.Default)
		}
	}
	values, wrong := r.Check(given, now)
	return string(report.EncodeBound(values)), len(wrong) == 0
}
