package dashboard

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

const (
	// maxMatches is the maximum number of running jobs that a filter by parameter finds.
	maxMatches = 5000
	// maxMatchAge is the maximum age of a cached answer, and maxMatchings the maximum number of them.
	maxMatchAge, maxMatchings = 15 * time.Second, 100
)

// parameter is the name and the value of a parameter.
type parameter struct{ name, value string }

// parameterOf parses name=value, also with spaces around the =.
func parameterOf(text string) (of parameter, ok bool) {
	name, value, ok := strings.Cut(text, "=")
	of = parameter{strings.TrimSpace(name), strings.TrimSpace(value)}
	return of, ok && of.name != ""
}

// String is the inverse of parameterOf.
func (p parameter) String() string { return p.name + "=" + p.value }

// match has the ids of the running jobs with a parameter: the maxMatches whose records were changed last. It is
// cached, also an error, because every live update asks for it.
type match struct {
	ids map[string]bool
	err error
}

// match reads the running jobs with a parameter. It returns an error only if no query was made.
func (p *jobPages) match(ctx context.Context, of parameter) (match, error) {
	found := match{ids: map[string]bool{}}
	found.err = p.queries.run(ctx, func(ctx context.Context) error {
		filter := record.Filter{Status: report.Processing, Parameters: map[string]string{of.name: of.value}}
		records, err := p.o.Inspect.Jobs.Search(ctx, filter, maxMatches)
		for _, r := range records {
			found.ids[r.ID] = true
		}
		return err
	})
	if errors.Is(found.err, errBusy) {
		return match{}, found.err
	}
	return found, nil
}
