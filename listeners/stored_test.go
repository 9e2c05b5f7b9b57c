package listeners

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/report"
)

// TestStoredColumns: a job stores what its fold, its file and its later stages use.
func TestStoredColumns(t *testing.T) {
	t.Parallel()
	columns := []string{"a", "b", "c", "d"}
	listener := func(name string, from *report.Ref) report.Listener {
		return report.Listener{Name: name, Columns: columns, From: from}
	}
	service := report.Listener{Name: "s", Kind: report.External, Columns: columns}
	stages := func(all ...[]report.Listener) (stages []report.Stage) {
		for _, listeners := range all {
			stages = append(stages, report.Stage{Listeners: listeners})
		}
		return stages
	}
	type list = []report.Listener
	file := func(columns ...report.FileColumn) report.File { return report.File{Columns: columns} }
	joined := report.Join{Keys: []string{"a"}, Listeners: []report.Joined{
		{Listener: "x", Keys: []string{"a"}}, {Listener: "y", Type: report.Left, Keys: []string{"b"}}}}
	for _, test := range []struct {
		name string
		r    report.Report
		want stored
	}{
		{"fold", report.Report{Fold: "SELECT x.b FROM x JOIN y ON y.a = x.a WHERE x.d > 1",
			Stages: stages(list{listener("x", nil), listener("y", nil)})},
			stored{"x": {"a", "b", "d"}, "y": {"a"}}},
		{"all", report.Report{Fold: "SELECT x.* FROM x", Stages: stages(list{listener("x", nil)})}, stored{"x": columns}},
		{"rows alone", report.Report{Fold: "SELECT COUNT(*) AS n FROM x", Stages: stages(list{listener("x", nil)})},
			stored{"x": {"a"}}},
		{"join", report.Report{Join: joined, File: file(report.FileColumn{Listener: "y", Column: "d"}),
			Stages: stages(list{listener("x", nil), listener("y", nil)})},
			stored{"x": {"a"}, "y": {"b", "d"}}},
		{"values of a later stage", report.Report{Join: joined, File: file(report.FileColumn{Listener: "y", Column: "d"}),
			Stages: stages(list{listener("x", nil), listener("values", nil)},
				list{listener("y", &report.Ref{Listener: "x", Column: "c"}), listener("z", &report.Ref{Listener: "values", Column: "d"})})},
			stored{"x": {"a", "c"}, "y": {"b", "d"}, "values": {"d"}}},
		{"a service of a later stage can read all", report.Report{Fold: "SELECT x.b, s.c FROM x JOIN y ON y.a = x.a JOIN s ON s.a = y.a",
			Stages: stages(list{listener("x", nil)}, list{service, listener("y", nil)})},
			stored{"s": {"a", "c"}, "y": {"a"}}},
		{"a service of the same stage cannot", report.Report{Fold: "SELECT x.b, s.c FROM x JOIN s ON s.a = x.a",
			Stages: stages(list{listener("x", nil), service})},
			stored{"x": {"a", "b"}, "s": {"a", "c"}}},
	} {
		if diff := cmp.Diff(test.want, storedOf(&test.r)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", test.name, diff)
		}
	}
}
