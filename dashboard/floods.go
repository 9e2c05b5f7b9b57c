package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/aged"
	"github.com/fanfold/fanfold/internal/words"
)

// floodPages makes the page of who floods: what the jobs with each value of a parameter take.
type floodPages struct {
	o    Options
	uses aged.Cache[flooded, *inspect.Use]
}

// flooded is a parameter of a report; empty: of all reports.
type flooded struct{ report, parameter string }

// maxUseAge is the maximum age of what is cached of the records, and maxUses the maximum number of these answers.
const maxUseAge, maxUses = 15 * time.Second, 20

func newFloodPages(o Options, searches queries) *floodPages {
	p := &floodPages{o: o}
	p.uses = aged.Cache[flooded, *inspect.Use]{MaxAge: maxUseAge, Max: maxUses, Timeout: pageTimeout}
	p.uses.Ask = func(ctx context.Context, of flooded) (use *inspect.Use, err error) {
		err = searches.run(ctx, func(ctx context.Context) error {
			use, err = o.Inspect.Jobs.Use(ctx, of.report, of.parameter)
			return err
		})
		return use, err
	}
	return p
}

// floods is the content of the page.
type floods struct {
	Report, Param   string
	Reports, Params []string
	Table           table
	At              time.Time // when the records were read
	Cut             bool      // only those that changed last were
	rows            []inspect.Flood
	use             *inspect.Use
}

// list is the page of who floods.
func (p *floodPages) list(ctx context.Context, r *http.Request, s *sample) (string, any, error) {
	reports := p.o.Inspect.Config.Reports
	v := floods{Report: r.FormValue("report"), Reports: slices.Sorted(maps.Keys(reports))}
	lists := map[string]bool{}
	for name, of := range reports {
		for _, one := range of.Parameters {
			if v.Report == "" || v.Report == name {
				lists[one.Name] = lists[one.Name] || one.List
			}
		}
	}
	v.Params = slices.Sorted(maps.Keys(lists))
	if lanes := p.o.Inspect.Config.Limits.Lanes; lanes != nil && slices.Contains(v.Params, lanes.By.Parameter) {
		v.Param = lanes.By.Parameter
	} else if len(v.Params) > 0 {
		v.Param = v.Params[0]
	}
	if asked := r.FormValue("param"); slices.Contains(v.Params, asked) {
		v.Param = asked
	}
	if v.Param == "" {
		return "Floods", v, nil
	}
	use, err := p.uses.Get(ctx, flooded{v.Report, v.Param})
	if err != nil {
		return "Floods", nil, err
	}
	v.use, v.At, v.Cut = use, use.At, use.Cut
	v.rows = use.Floods(s.Jobs)
	v.Table = v.listing(r, lists[v.Param]).of(r, slices.Clone(v.rows))
	return "Floods", v, nil
}

// listing is the table of values. Those of lists have no links, because no page filters by them.
func (v floods) listing(r *http.Request, isList bool) listing[inspect.Flood] {
	link := func(path string, q url.Values) string {
		if isList || len(q.Get("param")+q.Get("q")) > maxParam {
			return ""
		}
		return path + "?" + q.Encode()
	}
	records := func(f inspect.Flood, status, since string) string {
		return link("/records", url.Values{
			"param": {v.Param + "=" + f.Value}, "report": {v.Report}, "status": {status}, "since": {since},
		})
	}
	var most inspect.Flood
	for _, f := range v.rows {
		most.Waiting, most.Running = max(most.Waiting, f.Waiting), max(most.Running, f.Running)
		most.Failed, most.Bytes = max(most.Failed, f.Failed), max(most.Bytes, f.Bytes)
		most.Seconds = max(most.Seconds, f.Seconds)
	}
	here := "/floods?" + without(r.URL.Query(), "message").Encode()
	change := func(label, name string, f inspect.Flood) act {
		return act{Label: label, Of: f.Value, To: "/select", Fields: []field{
			{"table", "floods"}, {"view", here}, {"row", f.Value}, {"change", name},
		}}
	}
	return listing[inspect.Flood]{
		name: "floods", label: "Values of " + v.Param, path: "/floods", size: 20, key: valueOf,
		columns: []column[inspect.Flood]{
			{
				key: "value", title: v.Param, class: "reason", order: by(valueOf),
				cell: func(f inspect.Flood) cell {
					return cell{Text: f.Value, To: records(f, "", "any time")}
				},
			},
			bars("waiting", "Waiting jobs", most.Waiting, count, func(f inspect.Flood) int { return f.Waiting },
				func(f inspect.Flood) string { return records(f, "pending", "any time") }),
			bars("running", "Running jobs", most.Running, count, func(f inspect.Flood) int { return f.Running },
				func(f inspect.Flood) string {
					return link("/jobs", url.Values{"q": {v.Param + "=" + f.Value}})
				}),
			bars("failed", "Failed in a day", most.Failed, count, func(f inspect.Flood) int { return f.Failed },
				func(f inspect.Flood) string { return records(f, "failed", "day") }),
			bars("bytes", "Data in Redis", most.Bytes, func(n any) string { return words.Bytes(n.(int64)) },
				func(f inspect.Flood) int64 { return f.Bytes }, nil),
			bars("seconds", "Query time", most.Seconds, func(n any) string {
				return words.Short(time.Duration(n.(float64) * float64(time.Second)))
			}, func(f inspect.Flood) float64 { return f.Seconds }, nil),
			{key: "change", title: "Change", operator: true, cell: func(f inspect.Flood) (c cell) {
				if f.Running+f.Waiting > 0 {
					c.Acts = append(c.Acts, change("Cancel all …", "floods/cancel", f))
				}
				if f.Waiting > 0 {
					c.Acts = append(c.Acts, change("Delay all …", "floods/delay", f))
				}
				return c
			}},
		},
	}
}

func valueOf(f inspect.Flood) string { return f.Value }

// bars is a column of numbers with bars.
func bars[N int | int64 | float64](
	key, title string, most N, write func(any) string, of func(inspect.Flood) N, to func(inspect.Flood) string,
) column[inspect.Flood] {
	c := column[inspect.Flood]{key: key, title: title, class: "number", order: by(of)}
	c.cell = func(f inspect.Flood) cell {
		if of(f) == 0 {
			return cell{}
		}
		c := cell{Text: write(of(f)), Bar: max(int(100*float64(of(f))/float64(most)), 1)}
		if to != nil {
			c.To = to(f)
		}
		return c
	}
	return c

}

// says names some values, the reports of their jobs, and how many of these are in each state.
func (v floods) says(values []string) string {
	waiting := v.jobs(values, func(f inspect.Flood) []string { return f.Queued })
	running := v.jobs(values, func(f inspect.Flood) []string { return f.Runs })
	named := strings.Join(values, ", ")
	if len(values) > maxHits {
		named = words.Count(len(values), "value")
	}
	if reports := v.use.Reports(slices.Concat(waiting, running)); len(reports) > 0 {
		named += " of report " + strings.Join(reports, ", ")
	}
	return fmt.Sprintf("%s = %s: %s, %s. ", v.Param, named, words.Count(len(waiting), "waiting job"),
		words.Count(len(running), "running job"))
}

// jobs returns the ids of the jobs with some values, once each.
func (v floods) jobs(values []string, of func(inspect.Flood) []string) []string {
	seen := map[string]bool{}
	var ids []string
	for _, f := range v.rows {
		if !slices.Contains(values, f.Value) {
			continue
		}
		for _, id := range of(f) {
			if !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return ids
}
