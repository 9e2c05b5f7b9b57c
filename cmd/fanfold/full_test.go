package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fanfold/fanfold/report"
)

// TestAFullRedisDrains: 40 jobs of several megabytes do not fit into a Redis of 32 MB at once. They
// wait, and all of them succeed.
func TestAFullRedisDrains(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, []string{"--maxmemory", "32mb"}, `
  big:
    retry: {delay: 200ms}
    stages: [{listeners: [{name: one, database: db, query: "SELECT seq AS k, REPEAT('x', 100) AS v FROM seq_1_to_30000"}]}]
`, "limits: {lease: 2s, grace: 5m}")
	var ids []string
	for range 40 {
		ids = append(ids, s.insert("big", ""))
	}
	s.serve(s.config)
	s.push(ids...)
	for _, v := range s.wait(ids...) {
		if v.Status != report.Success {
			t.Errorf("%+v", v)
		}
	}
	s.idle()
	full := 0
	for _, id := range ids {
		n, counted := s.retries(id, "one")
		if full += n; counted != 0 {
			t.Errorf("job %s used %d tries", id, counted)
		}
	}
	if full == 0 {
		t.Error("Redis was never full: the test is not what it says")
	}
	t.Logf("%d times a task met a full Redis", full)
}

// large is a report with two listeners of many rows, which take about 145 bytes in Redis for a row, and
// one of a few rows.
const large = `
  large:
    parameters: {rows: {type: integer, default: 1000000}}
    retry: {delay: 200ms}
    stages:
      - listeners:
          - {name: a, database: db, query: "SELECT seq AS k, REPEAT('x', 50) AS a FROM seq_1_to_4000000 WHERE seq <= :rows"}
          - {name: b, database: db, query: "SELECT seq AS k, REPEAT('y', 50) AS b FROM seq_1_to_4000000 WHERE seq <= :rows"}
    join: {key: k}
  small:
    retry: {delay: 200ms}
    stages: [{listeners: [{name: s, database: db, query: "SELECT seq AS k FROM seq_1_to_10"}]}]
`

// TestLargeJobsOnAFullRedis: jobs of which one fits into Redis go on one after another, the oldest
// first, while small jobs pass.
func TestLargeJobsOnAFullRedis(t *testing.T) {
	t.Parallel()
	for _, jobs := range []int{2, 4} {
		t.Run(fmt.Sprint(jobs), func(t *testing.T) {
			t.Parallel()
			s := newStackAlone(t, []string{"--maxmemory", "200mb"}, large, "limits: {lease: 2s, grace: 5m, job_bytes: 4GB}")
			var ids, small []string
			for range jobs {
				ids = append(ids, s.insert("large", `{"rows": 1000000}`))
			}
			for range 5 {
				small = append(small, s.insert("small", ""))
			}
			s.serve(s.config)
			began := time.Now()
			s.push(ids...)
			s.eventually("Redis was full", func() bool { return s.b.Redis.Exists(t.Context(), s.b.Partitions.Home().Keys.Full()).Val() == 1 })
			s.push(small...)
			for _, v := range s.wait(small...) {
				if v.Status != report.Success {
					t.Errorf("%+v", v)
				}
			}
			t.Logf("small jobs after %v", time.Since(began))
			for _, v := range s.wait(ids...) {
				if v.Status != report.Success || v.Rows == nil || *v.Rows != 1_000_000 {
					t.Errorf("%+v", v)
				}
				t.Logf("%s ended as attempt %d after %v", v.ID, v.Attempt, time.Since(began))
			}
			s.idle()
		})
	}
}

// TestAJobLargerThanRedis fails at once, with the arithmetic.
func TestAJobLargerThanRedis(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, []string{"--maxmemory", "64mb"}, large, "limits: {lease: 2s, grace: 5m, job_bytes: 4GB}")
	id := s.insert("large", `{"rows": 1000000}`)
	s.serve(s.config)
	s.push(id)
	v := s.wait(id)[0]
	if v.Status != report.Failed || !strings.Contains(v.Error, "does not fit into Redis") || !strings.Contains(v.Error, "maxmemory (64.0 MB)") || v.Attempt != 1 {
		t.Errorf("%+v", v)
	}
	t.Log(v.Error)
	s.idle()
}
