package command

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/report"
)

// TestManyListenersShareConnections: a process with 300 listeners opens only a few connections to
// Redis, and every listener works.
func TestManyListenersShareConnections(t *testing.T) {
	t.Parallel()
	const reports, each = 30, 10
	var text strings.Builder
	for r := range reports {
		fmt.Fprintf(&text, "  r%d:\n    listeners:\n", r)
		for l := range each {
			fmt.Fprintf(&text, "      l%d_%d: {database: db, query: \"SELECT 1 AS k, %d AS v%d\"}\n", r, l, l, l)
		}
		text.WriteString("    join: {key: k}\n")
	}
	s := newStackAlone(t, nil, text.String(), "databases: {db: {dsn: \"{dsn}\", max_connections: 5}}")
	s.process("-c", s.File, "serve")
	var ids []string
	for r := range reports {
		for range 3 {
			ids = append(ids, s.Records.Insert(fmt.Sprint("r", r), ""))
		}
	}
	s.Jobs.Push(ids...)
	for _, v := range s.Jobs.Wait(ids...) {
		if v.Status != report.Success {
			t.Errorf("%+v", v)
		}
	}
	list, err := s.Redis.ClientList(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(list, "\n"); n > 60 {
		t.Errorf("%d connections", n)
	}
}
