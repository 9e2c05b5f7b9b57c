package command

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/report"
)

// spooledYAML has a report of one stage and one of two.
var spooledYAML = strings.Replace(compressedYAML, "  compressed:\n", "  compressed:\n    retry: {delay: 200ms}\n", 1) + `
  joined:
    retry: {delay: 200ms}
    listeners:
      orders: {database: db, query: "SELECT id, customer, note, paid FROM orders ORDER BY id"}
      held: {database: db, query: "SELECT id, state FROM held ORDER BY id"}
    join: {key: id, listeners: [orders, {name: held, type: left}]}
    file: {columns: [id, customer, note, paid, state]}
  used:
    retry: {delay: 200ms}
    listeners:
      orders: {database: db, query: "SELECT id, customer, note, paid FROM orders ORDER BY id"}
      held: {database: db, query: "SELECT id, state FROM held ORDER BY id"}
      customers: {database: db, query: "SELECT id, name FROM customers WHERE id IN (:orders.customer)"}
      others: {database: db, query: "SELECT id, name FROM customers WHERE id IN (:orders.customer)"}
    join: {key: id, listeners: [orders, {name: held, type: left}, customers, others]}
    file: {columns: [id, customers.name, {column: others.name, label: other}]}
  once:
    retry: {retries: 0}
    listeners:
      orders: {database: db, query: "SELECT id, customer, note, paid FROM orders ORDER BY id"}
      held: {database: db, query: "SELECT id, state FROM held ORDER BY id"}
    join: {key: id, listeners: [orders, {name: held, type: left}]}
  spare:
    retry: {retries: 0}
    listeners:
      orders: {database: db, query: "SELECT id, customer, note, paid FROM orders ORDER BY id", optional: true}
      held: {database: db, query: "SELECT id, state FROM held ORDER BY id"}
      customers: {database: db, query: "SELECT id, name FROM customers WHERE id IN (:orders.customer)"}
    join: {key: id, listeners: [held, {name: customers, type: left}]}
    file: {columns: [id, state, name]}
  spared:
    retry: {retries: 0}
    listeners:
      orders: {database: db, query: "SELECT id, customer, note, paid FROM orders ORDER BY id", optional: true}
      held: {database: db, query: "SELECT id, state FROM held ORDER BY id"}
    join: {key: id, listeners: [held, {name: orders, type: left}]}
    file: {columns: [id, state, paid]}
`

// newSpooled starts a stack whose datasets above 20 KB lie in a spool, which it returns.
func newSpooled(t *testing.T, settings string) (s *stack, folder string) {
	t.Helper()
	folder = t.TempDir()
	s = newStackAlone(t, nil, spooledYAML, "spool: {url: file://"+folder+", above: 20KB}\n"+settings)
	fillCompressed(s)
	return s, folder
}

// segments returns the segments of a listener in a spool.
func segments(t *testing.T, folder, listener string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(folder, "*", "*="+listener+"=*.zst"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestDatasetsInTheSpool: a large dataset lies in the spool and a small one in Redis; the file is what MariaDB gives, and
// nothing is left.
func TestDatasetsInTheSpool(t *testing.T) {
	t.Parallel()
	s, folder := newSpooled(t, "limits: {lease: 2s}")
	s.Serve(s.File)
	release := hold(s.Stack)
	id := startHeld(s.Stack)
	state, err := s.Partitions.First().Jobs.Read(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	orders := state.Tasks["orders"]
	if orders.At == "" || orders.Rows != 25000 || orders.Bytes != 0 || state.Bytes > 100_000 || state.Spooled == 0 {
		t.Errorf("the orders are not in the spool: %+v, %d bytes in Redis, %d in the spool", orders, state.Bytes, state.Spooled)
	}
	if fields := s.Redis.HKeys(t.Context(), "FileDownloadRecordEntity-"+id).Val(); slices.Contains(fields, "orders.id") {
		t.Errorf("Redis has the orders, too: %q", fields)
	}
	files := segments(t, folder, "orders")
	if len(files) != 1 {
		t.Fatalf("the spool has %q", files)
	}
	text, err := exec.CommandContext(t.Context(), "zstd", "-dc", files[0]).Output()
	if err != nil {
		t.Fatalf("%v: apt-get install zstd", err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Size() != state.Spooled || !bytes.HasPrefix(text, []byte("[1,2,3,")) {
		t.Errorf("%v %v: the state says %d bytes; zstd gives %.20q", info, err, state.Spooled, text)
	}
	release()
	want := s.Records.Expect("id,customer,note,paid,state,name", compressedSQL)
	if got := s.Files.Content(s.Jobs.Wait(id)[0]); got != want {
		t.Errorf("-MariaDB +Fanfold:\n%s", e2e.FirstDifference(want, got))
	}
	s.Jobs.Idle()
	if left := segments(t, folder, "*"); len(left) > 0 {
		t.Errorf("the spool still has %q", left)
	}
}

// TestDatasetsThatAreKept: chunks that wait until it is known where the dataset lies are stored as they were read.
func TestDatasetsThatAreKept(t *testing.T) {
	t.Parallel()
	for above, spooled := range map[string]bool{"1MB": true, "64MB": false} {
		s := newStackAlone(t, nil, `
  wide:
    listeners: {one: {database: db, query: "SELECT seq AS k, REPEAT(seq, 10) AS v FROM seq_1_to_60000"}}
`, "spool: {url: file://"+t.TempDir()+", above: "+above+"}")
		s.Serve(s.File)
		want := s.Records.Expect("k,v", "SELECT seq, REPEAT(seq, 10) FROM seq_1_to_60000")
		if got := s.Jobs.Succeed("wide", ""); got != want {
			t.Errorf("above %s, spooled %t: -MariaDB +Fanfold:\n%s", above, spooled, e2e.FirstDifference(want, got))
		}
	}
}

// TestLostSegments: the listener of a segment that is missing or damaged runs again, whoever finds it; without a try
// left, the job fails, or continues if the listener is optional, and its reason names the segment.
func TestLostSegments(t *testing.T) {
	t.Parallel()
	s, folder := newSpooled(t, "limits: {lease: 2s}")
	s.Serve(s.File)
	change := func(how func(b []byte) []byte) func(file string) error {
		return func(file string) error {
			text, err := os.ReadFile(file)
			return errors.Join(err, os.WriteFile(file, how(text), 0o600))
		}
	}
	inRecords := strings.Replace(compressedSQL, ", c.name", "", 1)
	inRecords = strings.Replace(inRecords, " LEFT JOIN customers c ON c.id = o.id", "", 1)
	for name, c := range map[string]struct {
		report, header, sql string
		harm                func(file string) error
		reason              string
	}{
		"missing, found by a listener": {"compressed", "id,customer,note,paid,state,name", compressedSQL, os.Remove, ""},
		"cut, found by fan-in": {"joined", "id,customer,note,paid,state", inRecords,
			change(func(b []byte) []byte { return b[:len(b)/2] }), ""},
		"damaged, found by fan-in": {"joined", "id,customer,note,paid,state", inRecords,
			change(func(b []byte) []byte { b[len(b)/2] ^= 1; return b }), ""},
		"missing, without a try":         {"once", "", "", os.Remove, "does not exist"},
		"missing, and used by listeners": {"used", "", "", os.Remove, "does not exist"},
		"missing, optional, found by a listener": {"spare", "id,state,name",
			"SELECT id, state, NULL FROM held ORDER BY id", os.Remove, "does not exist"},
		"missing, optional, found by fan-in": {"spared", "id,state,paid",
			"SELECT id, state, NULL FROM held ORDER BY id", os.Remove, "does not exist"},
	} {
		release := hold(s.Stack)
		id := s.Records.Insert(c.report, "")
		s.Jobs.Push(id)
		s.Eventually("the orders are there", func() bool {
			state, err := s.Partitions.First().Jobs.Read(t.Context(), id)
			return err == nil && state.Tasks["orders"].Done
		})
		files := segments(t, folder, "orders")
		if len(files) != 1 {
			t.Fatalf("%s: the spool has %q", name, files)
		}
		if err := c.harm(files[0]); err != nil {
			t.Fatal(err)
		}
		release()
		v := s.Jobs.Wait(id)[0]
		if c.reason != "" && c.sql != "" {
			if v.Status != report.Partial || !strings.Contains(v.Error, "without listener orders: ") ||
				!strings.Contains(v.Error, "segment file://"+files[0]+" of the spool "+c.reason) {
				t.Errorf("%s: %s: %s", name, v.Status, v.Error)
			}
			got, err := os.ReadFile(strings.TrimPrefix(v.File, "file://"))
			if want := s.Records.Expect(c.header, c.sql); err != nil || string(got) != want {
				t.Errorf("%s: %v: -MariaDB +Fanfold:\n%s", name, err, e2e.FirstDifference(want, string(got)))
			}
		} else if c.reason != "" {
			if v.Status != report.Failed || !strings.Contains(v.Error, "listener orders: segment file://"+files[0]+" of the spool "+c.reason) {
				t.Errorf("%s: %s: %s", name, v.Status, v.Error)
			}
		} else if got, want := s.Files.Content(v), s.Records.Expect(c.header, c.sql); got != want {
			t.Errorf("%s: %s: -MariaDB +Fanfold:\n%s", name, v.Error, e2e.FirstDifference(want, got))
		} else if _, counted := s.Jobs.Retries(id, "orders"); counted != 1 {
			t.Errorf("%s: the listener ran again %d times", name, counted)
		}
		s.Eventually(name+": the spool is empty", func() bool { return len(segments(t, folder, "*")) == 0 })
	}
	s.Jobs.Idle()
}

// TestLostSegmentsThatWereUsed: a listener of a later stage has no values for rows that only a second run finds. So the
// job fails, and another attempt makes the whole file.
func TestLostSegmentsThatWereUsed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s := newStackAlone(t, nil, `
  used:
    listeners:
      orders: {database: db, query: "SELECT id, customer, note FROM orders ORDER BY id"}
      names: {database: db, query: "SELECT id, name FROM customers WHERE id IN (:orders.customer)"}
      gate: {database: db, query: "SELECT id, state FROM held WHERE id IN (:names.id)"}
    fold: |
      SELECT o.id, o.note, n.name, g.state
      FROM orders o LEFT JOIN names n ON n.id = o.customer LEFT JOIN gate g ON g.id = o.customer
`, "spool: {url: file://"+folder+", above: 20KB}\nlimits: {lease: 2s}")
	fillCompressed(s)
	s.Serve(s.File)
	release := hold(s.Stack)
	id := s.Records.Insert("used", "")
	s.Jobs.Push(id)
	s.Eventually("the names are there", func() bool {
		state, err := s.Partitions.First().Jobs.Read(t.Context(), id)
		return err == nil && state.Tasks["names"].Done
	})
	s.Records.Exec("INSERT INTO customers VALUES (700, 'new')")
	s.Records.Exec("INSERT INTO orders VALUES (30001, 700, 'new', '2024-01-01')")
	if err := os.Remove(segments(t, folder, "orders")[0]); err != nil {
		t.Fatal(err)
	}
	release()
	v := s.Jobs.Wait(id)[0]
	if v.Status != report.Failed || !strings.Contains(v.Error, "listener names may have used its values: retry the job") {
		t.Errorf("%s: %s", v.Status, v.Error)
	}
	if out, code := s.fanfold("retry", id); code != exitOK {
		t.Fatal(out)
	}
	want := s.Records.Expect("id,note,name,state", "SELECT o.id, o.note, c.name, h.state FROM orders o "+
		"LEFT JOIN customers c ON c.id = o.customer LEFT JOIN held h ON h.id = o.customer ORDER BY o.id")
	if got := s.Files.Content(s.Jobs.Wait(id)[0]); got != want {
		t.Errorf("-MariaDB +Fanfold:\n%s", e2e.FirstDifference(want, got))
	}
	s.Jobs.Idle()
}

// TestTicketsThatAreNotValid: another program changes the ticket of a dataset. The job fails at once, whoever finds it,
// and its reason says what is wrong.
func TestTicketsThatAreNotValid(t *testing.T) {
	t.Parallel()
	s, _ := newSpooled(t, "limits: {lease: 2s}")
	s.Serve(s.File)
	for _, c := range []struct {
		report string
		change func(ticket string) string
		says   string
	}{
		{"compressed", func(ticket string) string { return ticket + " 12,7" }, `the ticket of a dataset has "12,7", not`},
		{"joined", func(ticket string) string { return ticket + " 12,7" }, `the ticket of a dataset has "12,7", not`},
		{"joined", func(ticket string) string { return ticket[:strings.LastIndex(ticket, " ")] }, "it has 0 chunks and no chunk 0"},
	} {
		release := hold(s.Stack)
		id := s.Records.Insert(c.report, "")
		s.Jobs.Push(id)
		s.Eventually("the orders are there", func() bool {
			state, err := s.Partitions.First().Jobs.Read(t.Context(), id)
			return err == nil && state.Tasks["orders"].Done
		})
		key := s.Partitions.First().Keys.Job(id)
		ticket := s.Redis.HGet(t.Context(), key, "orders:at").Val()
		if err := s.Redis.HSet(t.Context(), key, "orders:at", c.change(ticket)).Err(); err != nil {
			t.Fatal(err)
		}
		release()
		v := s.Jobs.Wait(id)[0]
		for _, says := range []string{"listener orders: ", "another program changed it", c.says} {
			if v.Status != report.Failed || !strings.Contains(v.Error, says) {
				t.Errorf("%s: %s: %s", c.report, v.Status, v.Error)
			}
		}
	}
	s.Jobs.Idle()
}
