package command

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/report"
)

const compressedYAML = `
  compressed:
    listeners:
      orders: {database: db, query: "SELECT id, customer, note, paid FROM orders ORDER BY id"}
      held: {database: db, query: "SELECT id, state FROM held ORDER BY id"}
      customers: {database: db, query: "SELECT id, name FROM customers WHERE id IN (:orders.customer)"}
    join:
      key: id
      listeners: [orders, {name: held, type: left}, {name: customers, type: left}]
    file: {columns: [id, customer, note, paid, state, name]}
`

const compressedSQL = "SELECT o.id, o.customer, o.note, o.paid, h.state, c.name FROM orders o LEFT JOIN held h ON h.id = o.id LEFT JOIN customers c ON c.id = o.id ORDER BY o.id"

// newCompressed starts a stack with a report whose second listener waits while the table held is
// locked.
func newCompressed(t *testing.T) *stack {
	t.Helper()
	s := newStackAlone(t, nil, compressedYAML, "limits: {redis_compression: zstd, shutdown_timeout: 1s, lease: 2s}")
	fillCompressed(s)
	return s
}

// fillCompressed creates the tables of the report.
func fillCompressed(s *stack) {
	s.Helper()
	for _, statement := range []string{
		"CREATE TABLE orders (id INT PRIMARY KEY, customer INT, note VARCHAR(80), paid DATETIME)",
		`INSERT INTO orders SELECT seq, seq * 7919 % 500, IF(seq % 5, CONCAT('note "', seq, '" über ', seq % 97), NULL), '2024-01-01' + INTERVAL seq MINUTE FROM seq_1_to_25000`,
		"CREATE TABLE held (id INT PRIMARY KEY, state VARCHAR(20))",
		"INSERT INTO held SELECT seq, CONCAT('state ', seq % 3) FROM seq_1_to_12000",
		"CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(40))",
		"INSERT INTO customers SELECT seq, CONCAT('customer ', seq) FROM seq_1_to_499",
	} {
		s.Records.Exec(statement)
	}
}

// hold locks the table held until release is called.
func hold(s *e2e.Stack) (release func()) {
	s.Helper()
	conn, err := s.DB.Conn(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = conn.Close() })
	exec := func(statement string) {
		if _, err := conn.ExecContext(s.Context(), statement); err != nil {
			s.Fatal(err)
		}
	}
	exec("LOCK TABLES held WRITE")
	return func() { exec("UNLOCK TABLES") }
}

// startHeld pushes a job and waits until it has the orders and its second query waits for the lock.
func startHeld(s *e2e.Stack) (id string) {
	s.Helper()
	id = s.Records.Insert("compressed", "")
	s.Jobs.Push(id)
	s.Eventually("the orders are there", func() bool {
		state, err := s.Partitions.First().Jobs.Read(s.Context(), id)
		return err == nil && state.Tasks["orders"].Done
	})
	return id
}

var magic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// TestCompressedChunks: a job that starts in a process with compression and continues in one
// without makes the same file, also with chunks that another program has compressed with other
// settings.
func TestCompressedChunks(t *testing.T) {
	t.Parallel()
	s := newCompressed(t)
	plain := s.Write("plain.yaml", compressedYAML, "limits: {shutdown_timeout: 1s, lease: 2s}")
	want := s.Records.Expect("id,customer,note,paid,state,name", compressedSQL)
	stop := s.Serve(s.File)
	if got := s.Jobs.Succeed("compressed", ""); got != want {
		t.Errorf("compressed: -MariaDB +Fanfold:\n%s", e2e.FirstDifference(want, got))
	}

	release := hold(s.Stack)
	id := startHeld(s.Stack)
	state, err := s.Partitions.First().Jobs.Read(t.Context(), id)
	if err != nil || state.Tasks["orders"].Chunks < 2 {
		t.Fatal(state, err)
	}
	compressed, text := 0, 0
	for number := range state.Tasks["orders"].Chunks {
		chunk := ""
		if number > 0 {
			chunk = fmt.Sprint("#", number)
		}
		for _, column := range []string{"id", "customer", "note", "paid"} {
			field := s.States.Field(id, "orders."+column+chunk)
			if !bytes.HasPrefix(field, magic) {
				t.Errorf("%s%s is not compressed: %.20q", column, chunk, field)
			}
			compressed += len(field)
			out := s.redisCLI(fmt.Sprintf("redis-cli --raw HGET FileDownloadRecordEntity-%s 'orders.%s%s' | zstd -dcf", id, column, chunk))
			if !strings.HasPrefix(out, "[") || !strings.HasSuffix(strings.TrimSpace(out), "]") {
				t.Errorf("%s%s: zstd gives %.20q", column, chunk, out)
			}
			text += len(strings.TrimSpace(out))
		}
	}
	if compressed*10 > text*4 {
		t.Errorf("%d bytes are stored of %d", compressed, text)
	}
	if n := state.Tasks["orders"].Bytes; n != int64(compressed) {
		t.Errorf("the state counts %d bytes, not the %d that are stored", n, compressed)
	}
	stop()
	s.Serve(plain)
	release()
	if got := s.Files.Content(s.Jobs.Wait(id)[0]); got != want {
		t.Errorf("compressed in part: -MariaDB +Fanfold:\n%s", e2e.FirstDifference(want, got))
	}

	release = hold(s.Stack)
	id = startHeld(s.Stack)
	field := s.States.Field(id, "orders.note#1")
	if bytes.HasPrefix(field, magic) {
		t.Error("compressed, though it is off")
	}
	foreign := exec.CommandContext(t.Context(), "zstd", "-q", "-19", "--no-check")
	foreign.Stdin = bytes.NewReader(field)
	out, err := foreign.Output()
	if err != nil {
		t.Fatalf("%v: apt-get install zstd", err)
	}
	s.States.SetField(id, "orders.note#1", out)
	release()
	if got := s.Files.Content(s.Jobs.Wait(id)[0]); got != want {
		t.Errorf("compressed by zstd: -MariaDB +Fanfold:\n%s", e2e.FirstDifference(want, got))
	}
}

// TestFramesThatCannotBeUsed: a chunk that cannot be decompressed fails its job, and the error
// names the chunk and the reason.
func TestFramesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	s := newCompressed(t)
	s.Serve(s.File)
	bomb := exec.CommandContext(t.Context(), "sh", "-c", "head -c 1000000000 /dev/zero | zstd -q -1")
	bytesOfBomb, err := bomb.Output()
	if err != nil {
		t.Fatalf("%v: apt-get install zstd", err)
	}
	for name, c := range map[string]struct {
		column string
		change func(field []byte) []byte
		reason string
	}{
		"damaged":       {"note", func(b []byte) []byte { b[len(b)/2] ^= 1; return b }, `column "note": cannot decompress the zstd frame: `},
		"cut":           {"note", func(b []byte) []byte { return b[:len(b)/2] }, `column "note": cannot decompress the zstd frame: `},
		"a bomb":        {"note", func([]byte) []byte { return bytesOfBomb }, `column "note": the zstd frames of one chunk decompress to more than 16 MB`},
		"a later stage": {"customer", func(b []byte) []byte { return b[:len(b)-2] }, `listener customers: column "customer": cannot decompress the zstd frame: `},
	} {
		release := hold(s.Stack)
		id := startHeld(s.Stack)
		field := "orders." + c.column + "#1"
		s.States.SetField(id, field, c.change(s.States.Field(id, field)))
		release()
		if v := s.Jobs.Wait(id)[0]; v.Status != report.Failed || !strings.Contains(v.Error, c.reason) {
			t.Errorf("%s: %s: %s, without %s", name, v.Status, v.Error, c.reason)
		}
	}
}
