package dashboard

import (
	"bytes"
	"html/template"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/inspect/plan"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
)

// planned is a report of two stages, whose second one uses a value of the first.
func planned() *report.Report {
	listener := func(name string, from *report.Ref) report.Listener {
		return report.Listener{Name: name, Columns: []string{"id", "x"}, From: from}
	}
	scores := listener("a_long_schema_name.and_a_longer_table", nil)
	scores.Optional = true
	return &report.Report{Name: "paid", Stages: []report.Stage{
		{Listeners: []report.Listener{listener("orders", nil), listener("ids", nil)}},
		{Listeners: []report.Listener{listener("users", &report.Ref{Listener: "ids", Column: "id"}), scores, listener("<b>", nil)}},
	}, Fold: "SELECT o.id, u.x FROM orders o JOIN users u ON u.id = o.id LEFT JOIN a_long_schema_name.and_a_longer_table s ON s.id = o.id"}
}

// pictureOf returns the picture of a report.
func pictureOf(t *testing.T, r *report.Report) *picture {
	t.Helper()
	of, err := plan.Of(r)
	if err != nil {
		t.Fatal(err)
	}
	return newPicture(of)
}

// TestPlan: a column has the listeners of a stage, and arrows show which values go where.
func TestPlan(t *testing.T) {
	t.Parallel()
	p := pictureOf(t, planned())
	want := []planBox{
		{X: 6, Y: 28, Name: "orders", Full: "orders", Class: "listener"}, {X: 6, Y: 72, Name: "ids", Full: "ids", Class: "listener"},
		{X: 246, Y: 6, Name: "users", Full: "users", Class: "listener"},
		{X: 246, Y: 50, Name: "…name.and_a_longer_table", Full: "a_long_schema_name.and_a_longer_table", Class: "optional"},
		{X: 246, Y: 94, Name: "<b>", Full: "<b>", Class: "listener"},
		{X: 486, Y: 50, Name: "fold", Full: "fold", Class: "fold"}, {X: 726, Y: 50, Name: "file", Full: "file", Class: "file"},
	}
	if diff := cmp.Diff(want, p.Boxes); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	from := map[string]string{}
	for _, a := range p.Arrows {
		start, _, _ := strings.Cut(a, "C")
		from[start] += "+"
	}
	// From ids to users, from orders, users and the optional one to the fold, and from the fold to the file.
	if diff := cmp.Diff(map[string]string{"M196 87": "+", "M196 43": "+", "M436 21": "+", "M436 65": "+", "M676 65": "+"}, from); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if p.Width != 922 || p.Height != 130 {
		t.Errorf("%d × %d", p.Width, p.Height)
	}
	steps := []string{"read orders as o", "inner join users as u on u.id = o.id", "left join a_long_schema_name.and_a_longer_table as s on s.id = o.id"}
	if diff := cmp.Diff(steps, p.Steps); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestPlanOfAJob: the arrows have the rows that the job found, and listeners that only wait for others have an arrow.
func TestPlanOfAJob(t *testing.T) {
	t.Parallel()
	r := planned()
	r.Stages[1].Listeners[0].After = []string{"ids"} // whose values it also uses: one arrow
	r.Stages[1].Listeners[1].After = []string{"orders"}
	of, err := plan.Of(r)
	if err != nil {
		t.Fatal(err)
	}
	m := sink.Manifest{Definition: r.Hash(), Rows: 1234567, Listeners: []sink.ManifestListener{{Name: "orders", Rows: 12345}, {Name: "users"}},
		Fold: []sink.ManifestStep{{Step: "read <b>", Depth: 1, Rows: new(int64(7)), How: "parallel"}}}
	of.AddManifest(m)
	p := newPicture(of)
	rows := map[string]string{}
	for _, b := range p.Boxes {
		rows[b.Full] = b.Rows
	}
	want := map[string]string{"orders": "12,345", "ids": "", "users": "0", "a_long_schema_name.and_a_longer_table": "", "<b>": "", "fold": "1,234,567", "file": ""}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(p.Arrows) != 6 || p.Boxes[2].X != 6+boxWidth+rowsGap || !strings.HasPrefix(p.Arrows[3], "M196 43C241 43 241 65 286 65") {
		t.Errorf("%d arrows, %+v, %s", len(p.Arrows), p.Boxes[2], p.Arrows)
	}
	page := template.Must((&Dashboard{}).template("job").Clone())
	var out bytes.Buffer
	if err := page.ExecuteTemplate(&out, "plan", p); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<text class="rows" x="200" y="34">12,345</text>`, `<li>orders (12,345 rows), ids</li>`, "<li>  read &lt;b&gt; → 7 rows, in parallel</li>"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
	of.Other = "another"
	out.Reset()
	if err := page.ExecuteTemplate(&out, "plan", newPicture(of)); err != nil || strings.Contains(out.String(), "<svg") || !strings.Contains(out.String(), "7 rows") {
		t.Errorf("%v: of another definition, a page has only the steps:\n%s", err, out.String())
	}
}

// TestPlanOnThePage: names are escaped, and the stages are also text.
func TestPlanOnThePage(t *testing.T) {
	t.Parallel()
	r := planned()
	d := &Dashboard{}
	page := template.Must(d.template("reports").Clone())
	var out bytes.Buffer
	content := listPages{plans: picturesOf(map[string]*report.Report{"paid": r})}
	if err := page.ExecuteTemplate(&out, "content", view{Content: reports{Reports: []definition{{Report: r, Name: "paid", Plan: content.plans["paid"]}}}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<svg width="922" height="130"`, `<title>&lt;b&gt;</title>`, `<rect x="246" y="94" width="190" height="30"`, `<text x="341" y="109">&lt;b&gt;</text>`,
		`<g class="optional">`, `<li>orders, ids</li><li>users, a_long_schema_name.and_a_longer_table, &lt;b&gt;</li>`, `<li>inner join users as u on u.id = o.id</li>`, `aria-label="Stages of paid"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
}
