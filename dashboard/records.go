package dashboard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

// records is the content of the page of records.
type records struct {
	ID, Status, Report, Since, Param string // the filter
	Wrong                            string // what is wrong with it; empty: nothing
	Statuses, Reports, Spans         []string
	Rows                             []inspect.Job
	Limit                            int
}

const (
	// maxRecords is how many records the page shows.
	maxRecords = 100
	// maxQueries is the maximum number of concurrent queries of records, because a filter can scan the table.
	// Queries whose browsers have disconnected count too.
	maxQueries = 2
	// maxParam is the maximum length of name=value.
	maxParam = 1000
	// queryWait is how long a query waits for others to end.
	queryWait = 5 * time.Second
	// recordsTimeout bounds one of them.
	recordsTimeout = 10 * time.Second
)

// spans are the maximum ages of a record's last change; 0: any.
var spans = map[string]time.Duration{"hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour, "any time": 0}

func (records) static() {}

func (v records) refused() bool { return v.Wrong != "" }

func (d *Dashboard) records(ctx context.Context, r *http.Request, _ *sample) (string, any, error) {
	v := records{
		ID: strings.TrimSpace(r.FormValue("id")), Status: strings.ToUpper(r.FormValue("status")), Report: r.FormValue("report"), Since: r.FormValue("since"), Param: strings.TrimSpace(r.FormValue("param")),
		Spans: []string{"hour", "day", "week", "any time"}, Reports: slices.Sorted(maps.Keys(d.o.Reports)), Limit: maxRecords,
	}
	if _, ok := spans[v.Since]; !ok {
		v.Since = "day"
	}
	of := record.Filter{Report: v.Report, Since: spans[v.Since], Parameters: map[string]string{}}
	for _, s := range report.Statuses {
		v.Statuses = append(v.Statuses, string(s))
		if string(s) == v.Status {
			of.Status = s
		}
	}
	name, value, ok := strings.Cut(v.Param, "=")
	switch {
	case v.ID != "" && !report.ValidID(v.ID):
		v.Wrong = "Id: an id is 1 to 64 of 0-9, A-Z, a-z, _ and -."
	case v.Status != "" && of.Status == "":
		v.Wrong = "Status: " + report.Shorten(v.Status) + " is not one of " + strings.Join(v.Statuses, ", ") + "."
	case len(v.Param) > maxParam:
		v.Wrong = fmt.Sprintf("Parameter: it has more than %d bytes.", maxParam)
	case v.Param != "" && (!ok || name == ""):
		v.Wrong = "Parameter " + report.Shorten(v.Param) + ": write name=value, such as customer=17."
	}
	if v.Wrong != "" {
		return "Records", v, nil
	}
	if v.Param != "" {
		of.Parameters[name] = value
	}
	var err error
	if v.ID != "" {
		v.Rows, err = d.record(ctx, v.ID)
	} else {
		v.Rows, err = d.list(ctx, of, maxRecords)
	}
	return "Records", v, err
}

// record reads the record with an id; none: it does not exist.
func (d *Dashboard) record(ctx context.Context, id string) (found []inspect.Job, err error) {
	err = d.query(ctx, func(ctx context.Context) error {
		r, err := d.o.Inspect.Record(ctx, id)
		if errors.Is(err, engine.ErrNoRecord) {
			return nil
		} else if err != nil {
			return err
		}
		found = []inspect.Job{inspect.OfRecord(r)}
		return d.o.Inspect.Times(ctx, &found[0])
	})
	return found, err
}

// list reads records with their times.
func (d *Dashboard) list(ctx context.Context, of record.Filter, max int) (found []inspect.Job, err error) {
	err = d.query(ctx, func(ctx context.Context) error {
		found, err = d.o.Inspect.List(ctx, of, max)
		return err
	})
	return found, err
}

// errBusy is the error of a query that waited queryWait for others.
var errBusy = errors.New("other queries of the records are still running: try again in a moment")

// query queries the records. The query continues after the browser disconnects, so that it counts until it
// ends. It ends at the deadline of its request.
func (d *Dashboard) query(ctx context.Context, f func(context.Context) error) error {
	wait := time.NewTimer(queryWait)
	defer wait.Stop()
	select {
	case d.queries <- struct{}{}:
		defer func() { <-d.queries }()
	case <-wait.C:
		return errBusy
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	ctx, cancel := detached(ctx, recordsTimeout)
	defer cancel()
	return f(ctx)
}

// detached returns a context for work that others wait for, too: it ends after max or at the deadline of a
// request, but not when its browser disconnects.
func detached(request context.Context, max time.Duration) (context.Context, context.CancelFunc) {
	end := time.Now().Add(max)
	if deadline, ok := request.Deadline(); ok && deadline.Before(end) {
		end = deadline
	}
	return context.WithDeadline(context.WithoutCancel(request), end)
}

const (
	// maxMatches is the maximum number of running jobs that a filter by parameter finds.
	maxMatches = 5000
	// maxMatchAge is the maximum age of a cached answer, and maxMatchings the maximum number of them.
	maxMatchAge, maxMatchings = 15 * time.Second, 100
)

// parameter is the name and the value of a parameter.
type parameter struct{ name, value string }

// match has the ids of the running jobs with a parameter: the maxMatches whose records were changed last. It is
// cached, also an error, because every live update asks for it.
type match struct {
	ids map[string]bool
	err error
}

// readMatch reads the running jobs with a parameter. It returns an error only if no query was made.
func (d *Dashboard) readMatch(ctx context.Context, p parameter) (match, error) {
	found := match{ids: map[string]bool{}}
	found.err = d.query(ctx, func(ctx context.Context) error {
		of := record.Filter{Status: report.Processing, Parameters: map[string]string{p.name: p.value}}
		records, err := d.o.Inspect.Search(ctx, of, maxMatches)
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
