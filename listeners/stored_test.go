package listeners

import (
	"maps"
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
		name     string
		r        report.Report
		want     map[string][]string
		services map[string]bool
	}{
		{"fold", report.Report{Fold: "SELECT x.b FROM x JOIN y ON y.a = x.a WHERE x.d > 1",
			Stages: stages(list{listener("x", nil), listener("y", nil)})},
			map[string][]string{"x": {"a", "b", "d"}, "y": {"a"}}, nil},
		{"all", report.Report{Fold: "SELECT x.* FROM x", Stages: stages(list{listener("x", nil)})}, map[string][]string{"x": columns}, nil},
		{"rows alone", report.Report{Fold: "SELECT COUNT(*) AS n FROM x", Stages: stages(list{listener("x", nil)})},
			map[string][]string{"x": {"a"}}, nil},
		{"join", report.Report{Join: joined, File: file(report.FileColumn{Listener: "y", Column: "d"}),
			Stages: stages(list{listener("x", nil), listener("y", nil)})},
			map[string][]string{"x": {"a"}, "y": {"b", "d"}}, nil},
		{"values of a later stage", report.Report{Join: joined, File: file(report.FileColumn{Listener: "y", Column: "d"}),
			Stages: stages(list{listener("x", nil), listener("values", nil)},
				list{listener("y", &report.Ref{Listener: "x", Column: "c"}), listener("z", &report.Ref{Listener: "values", Column: "d"})})},
			map[string][]string{"x": {"a", "c"}, "y": {"b", "d"}, "values": {"d"}}, nil},
		{"a service of a later stage can read all", report.Report{Fold: "SELECT x.b, s.c FROM x JOIN y ON y.a = x.a JOIN s ON s.a = y.a",
			Stages: stages(list{listener("x", nil)}, list{service, listener("y", nil)})},
			map[string][]string{"s": {"a", "c"}, "y": {"a"}}, map[string]bool{"x": true}},
		{"a service of the same stage cannot", report.Report{Fold: "SELECT x.b, s.c FROM x JOIN s ON s.a = x.a",
			Stages: stages(list{listener("x", nil), service})},
			map[string][]string{"x": {"a", "b"}, "s": {"a", "c"}}, nil},
	} {
		got := storedOf(&test.r)
		if diff := cmp.Diff(test.want, got.columns); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", test.name, diff)
		}
		if !maps.Equal(test.services, got.services) {
			t.Errorf("%s: services may read %v, want %v", test.name, got.services, test.services)
		}
	}
}
