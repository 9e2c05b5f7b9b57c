package command

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/step"
)

// sample is a line of /metrics.
type sample struct {
	name, labels string // labels as they are written, with a comma at the end
	value        float64
}

// has reports whether a sample has a label, such as partition="0".
func (m sample) has(label string) bool { return strings.Contains(","+m.labels, ","+label+",") }

var sampleLine = regexp.MustCompile(`(?m)^(\w+)(?:\{(.*)\})? (\S+)$`)

// scrape reads the metrics of a process.
func scrape(t *testing.T, addr string) (all []sample) {
	t.Helper()
	_, text := e2e.Get(t, addr, "/metrics")
	for _, m := range sampleLine.FindAllStringSubmatch(text, -1) {
		value, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, sample{m[1], m[2] + ",", value})
	}
	return all
}

// sum adds the samples of a metric that have all the labels, over all partitions.
func sum(all []sample, name string, labels ...string) (total float64) {
next:
	for _, m := range all {
		for _, label := range labels {
			if !m.has(label) {
				continue next
			}
		}
		if m.name == name {
			total += m.value
		}
	}
	return total
}

// TestLag: every process reports the lag of every listener in every partition, even of listeners
// without workers, and the lag of the scheduler.
func TestLag(t *testing.T) {
	t.Parallel()
	const jobs = 20
	s := newStack(t, e2e.Crowd)
	s.File = s.Divided("two.yaml", 2, e2e.Crowd)
	s.Use(s.File)
	core, ab, c := e2e.Address(t), e2e.Address(t), e2e.Address(t)
	engine := s.process("-c", s.File, "serve", "--roles", "engine,scheduler", "--admin", core)
	s.Eventually("ready", func() bool { code, _ := e2e.Get(t, core, "/readyz"); return code == 200 })
	ids := s.crowd.insert(jobs)
	s.Jobs.Push(ids[:jobs/2]...)
	for _, id := range ids[jobs/2:] {
		s.Redis.ZAdd(t.Context(), s.Partitions.Of(id).Keys.Delayed, redis.Z{Score: float64(time.Now().Unix()), Member: id})
	}
	// listener checks the metrics of a listener in a process.
	var all []sample
	listener := func(name string, lag, workers float64) bool {
		of := "listener=" + strconv.Quote(name)
		old := sum(all, "fanfold_tasks_oldest_seconds", of) > 0
		return sum(all, "fanfold_tasks_lag", of) == lag && sum(all, "fanfold_tasks_workers", of) == workers && old == (lag > 0)
	}
	tells := func(addr string, a, b, c, workersAB, workersC float64) func() bool {
		return func() bool {
			all = scrape(t, addr)
			return listener("src.a", a, workersAB) && listener("src.b", b, workersAB) && listener("src.c", c, workersC)
		}
	}
	s.Eventually("tasks wait for workers", tells(core, jobs, jobs, 0, 0, 0))
	for _, part := range []string{`partition="0"`, `partition="1"`} {
		if sum(all, "fanfold_tasks_lag", `listener="src.a"`, part) == 0 {
			t.Errorf("no lag in %s", part)
		}
	}
	s.Eventually("every moved id is counted", func() bool {
		return sum(scrape(t, core), "fanfold_delayed_lateness_seconds_count") == jobs/2
	})
	const oldest, zero = "fanfold_tasks_oldest_seconds", `partition="0"`
	was, since := sum(all, oldest, zero, `listener="src.a"`), time.Now()
	_ = step.Wait(t.Context(), 300*time.Millisecond)
	if grown, passed := sum(scrape(t, core), oldest, zero, `listener="src.a"`)-was, time.Since(since).Seconds(); grown < 0.2 || grown > passed+1 {
		t.Errorf("the oldest task is older by %v s after %v s", grown, passed)
	}

	s.process("-c", s.File, "serve", "--roles", "listeners", "--listeners", "src.[ab]", "--admin", ab)
	// A worker counts in each of the two partitions.
	s.Eventually("the first stage is done", tells(core, 0, 0, jobs, 2, 0))
	s.Eventually("another process tells the same", tells(ab, 0, 0, jobs, 2, 0))
	s.process("-c", s.File, "serve", "--roles", "listeners", "--listeners", "src.c", "--admin", c)
	s.Jobs.Wait(ids...)
	s.Eventually("all is done", tells(core, 0, 0, 0, 2, 2))
	for _, m := range all {
		for _, end := range []string{"_lag", "_oldest_seconds", "_overdue_seconds", "_waiting", "_pending"} {
			if strings.HasSuffix(m.name, end) && m.value != 0 {
				t.Errorf("%s{%s} is %v", m.name, m.labels, m.value)
			}
		}
	}
	if n := sum(all, "fanfold_jobs_finished_total", `report="crowd"`, `status="SUCCESS"`); n != jobs {
		t.Errorf("%v jobs have ended, not %d", n, jobs)
	}
	for addr, names := range map[string][]string{ab: {"src.a", "src.b"}, c: {"src.c"}} {
		for _, name := range names {
			if n := sum(scrape(t, addr), "fanfold_tasks_total", "listener="+strconv.Quote(name), `outcome="done"`); n != jobs {
				t.Errorf("%v tasks of %s were done, not %d", n, name, jobs)
			}
		}
	}

	// Without a scheduler, due ids are not moved.
	kill(t, engine)
	id := ids[0]
	s.Redis.ZAdd(t.Context(), s.Partitions.Of(id).Keys.Delayed, redis.Z{Score: float64(time.Now().Add(-time.Minute).UnixMilli()), Member: id})
	if late := sum(scrape(t, ab), "fanfold_delayed_overdue_seconds"); late < 59 || late > 90 {
		t.Errorf("an id that was due a minute ago is late by %v s", late)
	}
}

// TestMetricsWhileAMasterHangs: while a master hangs, the metrics of the partitions on other
// masters are still served.
func TestMetricsWhileAMasterHangs(t *testing.T) {
	t.Parallel()
	s, cluster := newStackOnCluster(t, 4, e2e.Crowd)
	read := func() (map[string]int, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		figures, err := s.Inspect.Figures.Read(ctx)
		count := map[string]int{}
		for _, f := range figures {
			count[f.Part]++
		}
		return count, err
	}
	whole, err := read()
	if err != nil || len(whole) != 4 {
		t.Fatalf("%v %v", whole, err)
	}
	for _, r := range []*testenv.Redis{cluster.Servers[1], cluster.Servers[4]} { // with its replica
		r.Freeze()
		defer r.Thaw()
	}
	count, err := read()
	delete(whole, "1")
	delete(whole, "2") // on the same master
	if err == nil || !maps.Equal(count, whole) {
		t.Errorf("%v, not %v: %v", count, whole, err)
	}
}

var update = flag.Bool("update", false, "write the tables of the documentation anew")

// described is a registry that records the registered metrics.
type described struct {
	prometheus.Registerer
	metrics map[string]string // name → row of the table
}

var descForm = regexp.MustCompile(`^Desc\{fqName: "(fanfold_\w+)", help: (".*"), unit: "", constLabels: \{\}, variableLabels: \{(.*)\}\}$`)

// foreign are metrics that the Prometheus client has for every program: they are not in the table.
var foreign = regexp.MustCompile(`^Desc\{fqName: "(go|process)_`)

// Register implements prometheus.Registerer.
func (d described) Register(c prometheus.Collector) error {
	descs := make(chan *prometheus.Desc, 100)
	c.Describe(descs)
	close(descs)
	for desc := range descs {
		if foreign.MatchString(desc.String()) {
			continue
		}
		m := descForm.FindStringSubmatch(desc.String())
		if m == nil {
			return fmt.Errorf("what is %s?", desc)
		}
		help, err := strconv.Unquote(m[2])
		if err != nil {
			return err
		}
		labels := ""
		if m[3] != "" {
			labels = "`" + strings.ReplaceAll(m[3], ",", "`, `") + "`"
		}
		d.metrics[m[1]] = fmt.Sprintf("| `%s` | %s | %s | %s |\n", m[1], kindOf(c), labels, help)
	}
	return nil
}

// kindOf returns the type of a collector's metrics, as Prometheus names it.
func kindOf(c prometheus.Collector) string {
	switch c.(type) {
	case *prometheus.HistogramVec, prometheus.Histogram:
		return "histogram"
	case *prometheus.GaugeVec, prometheus.Gauge: // before Counter, whose methods a Gauge has
		return "gauge"
	case *prometheus.CounterVec, prometheus.Counter:
		return "counter"
	}
	return "gauge" // of inspect
}

// MustRegister implements prometheus.Registerer.
func (d described) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if err := d.Register(c); err != nil {
			panic(err)
		}
	}
}

var metricsTable = regexp.MustCompile(`(?s)<!-- metrics -->\n.*?<!-- end -->`)

// TestMetricsInTheDocs compares the table of docs/reference/metrics.md with the metrics (with
// -update, the test writes it), and checks that every metric in the documentation exists.
func TestMetricsInTheDocs(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow, "traces: {url: 'http://127.0.0.1:1'}\nlanes: {running: 1}")
	d := described{metrics: map[string]string{}}
	if err := s.RegisterMetrics(d); err != nil {
		t.Fatal(err)
	}
	s.Metrics = d
	end, err := s.Traces(t.Context(), "c", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	for _, role := range process.Roles {
		if _, err := s.Role(t.Context(), role, "c", slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	rows := "| metric | kind | labels | meaning |\n|---|---|---|---|\n"
	for _, name := range slices.Sorted(maps.Keys(d.metrics)) {
		rows += d.metrics[name]
	}
	const page = "../../../docs/reference/metrics.md"
	was, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	is := metricsTable.ReplaceAllLiteralString(string(was), "<!-- metrics -->\n"+rows+"<!-- end -->")
	switch {
	case is == string(was):
	case *update:
		if err := os.WriteFile(page, []byte(is), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s: its table is not that of the metrics (write it with: go test ./cmd/fanfold/command -run TestMetricsInTheDocs -update)", page)
	}
	for _, page := range []string{page, "../../../README.md", "../../../docs/explanation/guarantees.md", "../../../docs/guides/external-listeners.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`fanfold_[a-z]+_[a-z_]+`).FindAllString(string(text), -1) {
			name = regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
			if d.metrics[name] == "" {
				t.Errorf("%s names %s, which does not exist", page, name)
			}
		}
	}
}
