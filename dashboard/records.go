package dashboard

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fanfold/fanfold/engine/record"
	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/report"
)

// records is the content of the page of records.
type records struct {
	Status, Report, Since, Param string // as they were asked for
	Statuses, Reports, Spans     []string
	Rows                         []inspect.Job
	Limit                        int
}

const (
	// maxRecords is how many records the page shows.
	maxRecords = 100
	// maxAsking is how many pages ask the records at once, also if their browsers leave: a filter can cost a scan of the table.
	maxAsking = 2
	// recordsTime bounds such a question.
	recordsTime = 10 * time.Second
)

// spans are how long ago a record was changed at most.
var spans = map[string]time.Duration{"hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour, "any time": 0}

func (d *Dashboard) records(ctx context.Context, r *http.Request, _ *sample) (string, any, error) {
	v := records{
		Status: strings.ToUpper(r.FormValue("status")), Report: r.FormValue("report"), Since: r.FormValue("since"), Param: strings.TrimSpace(r.FormValue("param")),
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
	if name, value, ok := strings.Cut(v.Param, "="); ok && name != "" && len(v.Param) <= 1000 {
		of.Parameters[name] = value
	}
	var err error
	v.Rows, err = d.list(ctx, of, maxRecords)
	return "Records", v, err
}

// list asks the records. The question outlives a browser that leaves.
func (d *Dashboard) list(ctx context.Context, of record.Filter, max int) ([]inspect.Job, error) {
	select {
	case d.asking <- struct{}{}:
		defer func() { <-d.asking }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordsTime)
	defer cancel()
	return d.o.Inspect.List(ctx, of, max)
}

// matched remembers which running jobs have a parameter: live pages ask that all the time.
type matched struct {
	mu    sync.Mutex
	known map[string]match // by name=value
}

type match struct {
	at  time.Time
	ids map[string]bool
}

// matchAge is how long such an answer is used.
const matchAge = 15 * time.Second

// with returns the ids of at most maxRows running jobs with a parameter, those whose records were changed last.
func (d *Dashboard) with(ctx context.Context, name, value string) (map[string]bool, error) {
	m, key := &d.matched, name+"="+value
	m.mu.Lock()
	maps.DeleteFunc(m.known, func(_ string, one match) bool { return time.Since(one.at) > matchAge })
	one, ok := m.known[key]
	m.mu.Unlock()
	if ok {
		return one.ids, nil
	}
	rows, err := d.list(ctx, record.Filter{Status: report.Processing, Parameters: map[string]string{name: value}}, maxRows)
	if err != nil {
		return nil, err
	}
	one = match{time.Now(), make(map[string]bool, len(rows))}
	for _, r := range rows {
		one.ids[r.ID] = true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[string]match{}
	}
	m.known[key] = one
	return one.ids, nil
}
