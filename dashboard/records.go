package dashboard

import (
	"cmp"
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
	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
)

// records is the content of the page of records.
type records struct {
	ID, Status, Report, Since, Param string // the filter
	Wrong                            string // what is wrong with it; empty: nothing
	Statuses, Reports, Spans         []string
	Table                            table
	Limit                            int
}

const (
	// maxRecords is how many records a filter finds.
	maxRecords = 1000
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
var spans = map[string]time.Duration{
	"hour":     time.Hour,
	"day":      24 * time.Hour,
	"week":     7 * 24 * time.Hour,
	"any time": 0,
}

func (records) static() {}

func (v records) refused() bool { return v.Wrong != "" }

// recordPages makes the page of records.
type recordPages struct {
	o       Options
	queries queries
}

// list is the page of records.
func (p recordPages) list(ctx context.Context, r *http.Request, _ *sample) (string, any, error) {
	v := records{
		ID:     strings.TrimSpace(r.FormValue("id")),
		Status: strings.ToUpper(r.FormValue("status")),
		Report: r.FormValue("report"),
		Since:  r.FormValue("since"),
		Param:  strings.TrimSpace(r.FormValue("param")),
		Spans:  []string{"hour", "day", "week", "any time"},
		Reports: slices.DeleteFunc(slices.Sorted(maps.Keys(p.o.Inspect.Config.Reports)),
			func(name string) bool { return !access.Of(ctx).May(report.See, name) }),
		Limit: maxRecords,
	}
	if _, ok := spans[v.Since]; !ok {
		v.Since = "day"
	}
	of := record.Filter{Report: v.Report, Since: spans[v.Since], Parameters: map[string]string{},
		Within: access.Of(ctx).Scopes(report.See)}
	for _, s := range report.Statuses {
		v.Statuses = append(v.Statuses, string(s))
		if string(s) == v.Status {
			of.Status = s
		}
	}
	param, ok := parameterOf(v.Param)
	switch {
	case v.ID != "" && !report.ValidID(v.ID):
		v.Wrong = "Id: an id is 1 to 64 of 0-9, A-Z, a-z, _ and -."
	case v.Status != "" && of.Status == "":
		v.Wrong = "Status: " + report.Shorten(v.Status) + " is not one of " + strings.Join(v.Statuses, ", ") + "."
	case len(v.Param) > maxParam:
		v.Wrong = fmt.Sprintf("Parameter: it has more than %d bytes.", maxParam)
	case v.Param != "" && !ok:
		v.Wrong = "Parameter " + report.Shorten(v.Param) + ": write name=value, such as customer=17."
	}
	if v.Wrong != "" {
		return "Records", v, nil
	}
	if v.Param != "" {
		of.Parameters[param.name] = param.value
	}
	var err error
	var rows []inspect.Job
	if v.ID != "" {
		rows, err = p.one(ctx, v.ID)
	} else {
		rows, err = p.some(ctx, of, maxRecords)
	}
	if !access.Of(ctx).Everywhere(report.See) {
		for i, one := range rows {
			rows[i] = one.Neutral()
		}
	}
	v.Table = recordTable.of(r, rows)
	return "Records", v, err
}

// recordTable is the table of records.
var recordTable = listing[inspect.Job]{
	name: "records", label: "Records", path: "/records", key: idOfRecord, columns: []column[inspect.Job]{
		{
			key: "id", title: "Record", order: byID(idOfRecord),
			cell: func(r inspect.Job) cell { return jobLink(r.ID) },
		},
		reportColumn(func(r inspect.Job) string { return r.Report }),
		{
			key: "status", title: "Status", order: by(func(r inspect.Job) report.Status { return r.Status }),
			cell: func(r inspect.Job) cell { return cell{Text: string(r.Status), Chip: chipOf(r.Status)} },
		},
		{
			key: "rows", title: "Rows", class: "number", order: by(func(r inspect.Job) int64 { return known(r.Rows) }),
			cell: text(func(r inspect.Job) string { return ifKnown(r.Rows, count) }),
		},
		{
			key: "changed", title: "Changed", class: "number",
			order: byTime(func(r inspect.Job) *time.Time { return r.Changed }),
			cell:  text(func(r inspect.Job) string { return ifKnown(r.Changed, stamp) }),
		},
		{
			key: "duration", title: "Duration", class: "number",
			order: by(func(r inspect.Job) int64 { return known(r.Duration) }),
			cell:  text(func(r inspect.Job) string { return ifKnown(r.Duration, took) }),
		},
		{key: "parameters", title: "Parameters", class: "code", cell: func(r inspect.Job) cell {
			return cell{Text: string(r.Parameters), Code: true}
		}},
		{key: "result", title: "File or reason", class: "reason", cell: func(r inspect.Job) cell {
			return cell{Text: cmp.Or(r.Error, r.File), Code: r.Error == ""}
		}},
	},
}

func idOfRecord(r inspect.Job) string { return r.ID }

// known returns a number; -1: there is none.
func known(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}

// ifKnown writes a value; empty: there is none.
func ifKnown[V any](of *V, write func(any) string) string {
	if of == nil {
		return ""
	}
	return write(of)
}

// one reads the record with an id; none: it does not exist.
func (p recordPages) one(ctx context.Context, id string) (found []inspect.Job, err error) {
	err = p.queries.run(ctx, func(ctx context.Context) error {
		r, err := p.o.Inspect.Jobs.Record(ctx, id)
		if errors.Is(err, engine.ErrNoRecord) {
			return nil
		} else if err != nil {
			return err
		}
		if !access.Of(ctx).Can(report.See, r.Report, r.Owner, r.Tenant) {
			return nil
		}
		found = []inspect.Job{inspect.OfRecord(r)}
		return p.o.Inspect.Jobs.Times(ctx, &found[0])
	})
	return found, err
}

// some reads records with their times.
func (p recordPages) some(ctx context.Context, of record.Filter, max int) (found []inspect.Job, err error) {
	err = p.queries.run(ctx, func(ctx context.Context) error {
		found, err = p.o.Inspect.Jobs.List(ctx, of, max)
		return err
	})
	return found, err
}
