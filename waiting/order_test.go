package waiting

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/report"
)

// TestOrder: a page shows the parameters that the report describes, and no others.
func TestOrder(t *testing.T) {
	t.Parallel()
	of := &report.Report{Parameters: []report.Parameter{
		{Name: "from", Type: report.ParamDate, Description: "First day"},
		{Name: "token", Type: report.ParamString},
		{Name: "tags", Type: report.ParamString, List: true, Description: "Tags"},
		{Name: "all", Type: report.ParamBoolean, Description: "All", Default: new("true")},
		{Name: "limit", Type: report.ParamInteger, Description: "Limit", Default: new("null")},
		{Name: "note", Type: report.ParamString, Description: "Note", Default: new(`""`)},
	}}
	got := ""
	for _, o := range order(english, []byte(`{"from": "2024-06-01", "token": "secret", "tags": ["<vip>", "old"], "other": "secret"}`), of) {
		got += o.Name + "=" + o.Value + ";"
	}
	if want := "First day=2024-06-01;Tags=<vip>, old;All=true;"; got != want {
		t.Errorf("%s", got)
	}
	if all := order(english, []byte(`[`), of); all != nil {
		t.Error(all)
	}
	items := `{"tags": ["x"` + strings.Repeat(`, "x"`, maxItems) + `]}`
	if all := order(english, []byte(items), of); !strings.HasSuffix(all[0].Value, "x, x, …") {
		t.Error(all)
	}
}

// TestPageOfAnOrder: the title and the page tell two requests of a report apart.
func TestPageOfAnOrder(t *testing.T) {
	t.Parallel()
	at := time.Date(2024, 3, 4, 5, 6, 7, 0, time.UTC)
	var out bytes.Buffer
	if err := layout.ExecuteTemplate(&out, "page", content{
		view: view{In: english, Title: "Ready", Result: &result{Created: at}}, Report: "Orders", Token: "t", Until: at.Add(time.Hour), Requested: at.Add(-time.Hour),
		Order: []ordered{{"Tags", "<vip>"}},
	}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"<title>Ready · Orders · &lt;vip&gt;</title>", "<dt>Tags</dt><dd>&lt;vip&gt;</dd>",
		`<dt>Requested</dt><dd><time datetime="2024-03-04T04:06Z">4 March 2024, 04:06 UTC</time></dd>`,
		`<dt>Created</dt><dd><time datetime="2024-03-04T05:06Z">4 March 2024, 05:06 UTC</time></dd>`,
		`until <time datetime="2024-03-04T06:06Z">4 March 2024, 06:06 UTC</time>.`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
}
