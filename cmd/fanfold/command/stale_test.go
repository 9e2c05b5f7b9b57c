package command

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
)

// staleYAML is a report whose rates fail while their table does not exist.
const staleYAML = `
  stale:
    retry: 0
    parameters: {country: {type: string, default: de}}
    listeners:
      orders: {database: db, query: "SELECT k, n FROM orders"}
      rates:
        database: db
        query: "SELECT k, rate, REPEAT('x', 100) AS pad FROM rates WHERE country = :country"
        on_failure: {stale: 24h}
      after: {database: db, query: "SELECT k, 2 * k AS twice FROM orders WHERE k IN (:rates.k)"}
    join: {key: k, listeners: [orders, {name: rates, type: left}, {name: after, type: left}]}
    file: {columns: [{column: k}, {column: n}, {column: rate}, {column: twice}]}
`

// manifestOf returns what the manifest of a job's file says of a listener.
func manifestOf(t *testing.T, file, listener string) sink.ManifestListener {
	t.Helper()
	text, err := os.ReadFile(sink.ManifestName(strings.TrimPrefix(file, "file://")))
	var m sink.Manifest
	if err != nil || json.Unmarshal(text, &m) != nil {
		t.Fatal(err, string(text))
	}
	for _, l := range m.Listeners {
		if l.Name == listener {
			return l
		}
	}
	t.Fatalf("no listener %s: %s", listener, text)
	return sink.ManifestListener{}
}

// TestStale: if a listener fails for good, the job uses the rows that an earlier one has read, wherever they lie and
// whichever partition that job was of, and says how old they are. They do not become younger by that.
func TestStale(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) *stack{
		"in Redis": func(t *testing.T) *stack { return newStack(t, staleYAML) },
		"in partitions": func(t *testing.T) *stack {
			s, _ := newStackOnCluster(t, 3, staleYAML)
			return s
		},
		"in the spool": func(t *testing.T) *stack {
			return newStack(t, staleYAML, "spool: {url: file://"+filepath.Join(t.TempDir(), "spool")+", above: 1KB}")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			s.Records.Exec("CREATE TABLE orders (k INT, n INT)")
			s.Records.Exec("INSERT INTO orders VALUES (1, 7), (2, 8)")
			s.Records.Exec("CREATE TABLE rates (k INT, rate INT, country VARCHAR(2))")
			s.Records.Exec("INSERT INTO rates SELECT seq, 10 * seq, 'de' FROM seq_1_to_20000")
			s.Serve(s.File)
			first := s.Jobs.Run("stale", "")
			if got := s.Files.Content(first); first.Status != report.Success || got != "k,n,rate,twice\r\n1,7,10,2\r\n2,8,20,4\r\n" {
				t.Fatalf("%+v: %q", first, got)
			}
			read := manifestOf(t, first.File, "rates").AsOf

			s.Records.Exec("DROP TABLE rates")
			s.Records.Exec("INSERT INTO orders VALUES (3, 9)")
			for i := range 3 { // each from the one before
				v := s.Jobs.Run("stale", "")
				form := `^listener rates: data of 20\d\d-\d\d-\d\d \d\d:\d\d UTC \([0-9.]+m?s old\), because .*doesn't exist`
				if v.Status != report.Partial || !regexp.MustCompile(form).MatchString(v.Error) {
					t.Fatalf("run %d: %s: %s", i, v.Status, v.Error)
				}
				b, err := os.ReadFile(strings.TrimPrefix(v.File, "file://"))
				if want := "k,n,rate,twice\r\n1,7,10,2\r\n2,8,20,4\r\n3,9,30,6\r\n"; err != nil || string(b) != want {
					t.Errorf("run %d: %q %v", i, b, err)
				}
				rates := manifestOf(t, v.File, "rates")
				if !rates.Stale || !rates.AsOf.Equal(read) || !strings.Contains(rates.Error, "doesn't exist") {
					t.Errorf("run %d: %+v, read at %s", i, rates, read)
				}
				if orders := manifestOf(t, v.File, "orders"); orders.Stale || !orders.AsOf.After(read) {
					t.Errorf("run %d: %+v", i, orders)
				}
			}
			if v := s.Jobs.Run("stale", `{"country": "fr"}`); v.Status != report.Failed {
				t.Errorf("rows of other parameters were used: %s: %s", v.Status, v.Error)
			}
			s.Records.Exec("CREATE TABLE rates AS SELECT 1 AS k, 5 AS rate, 'de' AS country")
			v := s.Jobs.Run("stale", "")
			if got := s.Files.Content(v); v.Status != report.Success || got != "k,n,rate,twice\r\n1,7,5,2\r\n2,8,,\r\n3,9,,\r\n" {
				t.Errorf("%s: %s: %q", v.Status, v.Error, got)
			}
			s.Jobs.Idle()
		})
	}
}

// TestStaleWhileTheSourceIsAway: an outage of a listener's source counts as a try if older rows may be used. Without such
// rows, the job waits for the source, as others do.
func TestStaleWhileTheSourceIsAway(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `[{"n": 7}]`)
	}))
	t.Cleanup(api.Close)
	s := newStack(t, `
  away:
    retry: {retries: 1, delay: 10ms}
    parameters: {team: {type: string, default: red}}
    listeners:
      scores:
        kind: http
        api: vendor
        columns: {n: {path: $.n, type: integer}}
        result: {path: "/:team"}
        on_failure: {stale: 1h}
`, fmt.Sprintf(`apis: {vendor: {url: "%s"}}`, api.URL))
	s.Serve(s.File)
	if v := s.Jobs.Run("away", ""); s.Files.Content(v) != "n\r\n7\r\n" {
		t.Fatalf("%+v", v)
	}
	api.Close()
	v := s.Jobs.Run("away", "")
	if v.Status != report.Partial || !strings.Contains(v.Error, "connection refused (try 2 of 2)") {
		t.Errorf("%s: %s", v.Status, v.Error)
	}
	id := s.Records.Insert("away", `{"team": "blue"}`)
	s.Jobs.Push(id)
	scripts := s.Partitions.First()
	s.Eventually("it waits for the source, although its tries are used", func() bool {
		state, err := scripts.Jobs.Read(t.Context(), id)
		if err != nil {
			return false
		}
		task := state.Tasks["scores"]
		return state.Status == job.StatusRun && task.Tries == 1 && task.Generation > 2 && !task.Next.IsZero()
	})
	s.must("cancel "+id, "cancelled")
	s.Jobs.Idle()
}
