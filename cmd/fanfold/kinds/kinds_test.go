package kinds

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/listeners/mysql"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scheduler/action"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/dir"
)

// strange is a Kind of no table.
type strange struct{}

func (strange) Names() []string { return []string{"oven"} }

// undecided are fields of a kind that does not say whether one of them is secret.
type undecided struct {
	Token string `yaml:"api_token"`
	Other string `yaml:"password" secret:""`
}

// TestWith: the kinds of a program are those of the command and further ones, and no two share a name.
func TestWith(t *testing.T) {
	t.Parallel()
	own := format.Kind{Format: report.Format{Name: "tsv"}, Extension: ".tsv"}
	all, err := With(own, sink.Kind{SinkKind: report.SinkKind{Scheme: "memory"}})
	if err != nil || len(all.Formats) != len(Standard().Formats)+1 || all.Formats[0].Name != "csv" ||
		len(all.Sinks) != len(Standard().Sinks)+1 {
		t.Errorf("%+v, %v", all, err)
	}
	schemeless := mysql.Kind
	schemeless.Name = "other"
	cron := action.Submit
	cron.Name = "cron"
	for want, more := range map[string][]Kind{
		`"format csv"`:        {format.CSV},
		`"extension .csv"`:    {format.Kind{Format: report.Format{Name: "other"}, Extension: ".csv"}},
		`"sink file"`:         {dir.Kind},
		`"source mysql"`:      {mysql.Kind},
		`"records in mysql"`:  {&record.Kind{Name: "mysql"}},
		`"format tsv"`:        {own, own},
		"oven":                {strange{}},
		`"DSNs of no scheme`:  {schemeless},
		`"cron" has the name`: {cron},
		"undecided.api_token": {sink.Kind{SinkKind: report.SinkKind{Scheme: "s", Fields: func() any { return new(undecided) }}}},
	} {
		if _, err := With(more...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
