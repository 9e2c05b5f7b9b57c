package record

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/report"
)

// auditTable is the table of what people did. It belongs to Fanfold and is in the schema of the record table, even if
// that is a service's.
const auditTable = "fanfold_audit"

const (
	// maxActs is the maximum number of acts in one statement.
	maxActs = 100
	// maxActText is the maximum number of characters of a text of an act.
	maxActText = 300
	// prunedActs is the maximum number of rows that Prune deletes in one statement.
	prunedActs = 500
)

var (
	actKey     = []string{"records", "ms", "seq"}
	actColumns = []string{"who", "face", "origin", "act", "target", "n", "answer", "reason", "detail"}
)

// Acts keeps what people did for longer than the audit stream, from which it is copied. It is safe for concurrent use.
type Acts struct {
	*mapping
	kept time.Duration // 0: nothing is
}

// Acts returns the Acts of the table.
func (s *Store) Acts() Acts { return Acts{s.mapping, s.acts} }

// ActFilter selects acts. An empty field selects all.
type ActFilter struct {
	Who, Act string
	On       []string  // one of these objects
	Since    time.Time // not older
	Before   string    // the entry of an act: older ones only
}

// Store stores acts, but none that is older than they are kept. Those that are stored already stay as they are.
func (a Acts) Store(ctx context.Context, acts []audit.Act) error {
	oldest := time.Now().Add(-a.kept)
	acts = slices.DeleteFunc(slices.Clone(acts), func(one audit.Act) bool {
		_, _, ok := parseEntry(one.Entry)
		return !ok || a.kept == 0 || one.When.Before(oldest)
	})
	for some := range slices.Chunk(acts, maxActs) {
		err := a.insert(ctx, a.db, some, textOf)
		if a.kind.Is(err, Unstorable) {
			err = a.insert(ctx, a.db, some, plain)
		}
		if err != nil {
			return a.failed(err)
		}
	}
	return nil
}

func (a Acts) insert(ctx context.Context, on execer, acts []audit.Act, text func(string) string) error {
	var args []any
	for _, one := range acts {
		ms, seq, _ := parseEntry(one.Entry)
		args = append(args, a.names.Name, ms, seq)
		for _, value := range []any{
			one.Who, one.By, one.From, one.Act, one.On, one.N, one.Answer, one.Reason, one.Detail,
		} {
			if of, ok := value.(string); ok {
				value = text(report.ShortenTo(of, maxActText))
			}
			args = append(args, value)
		}
	}
	columns := slices.Concat(actKey, actColumns)
	row := "(" + marks(len(columns)) + ")"
	statement := a.sql("INSERT INTO {audit} (" + strings.Join(columns, ", ") + ") VALUES " +
		row + strings.Repeat(", "+row, len(acts)-1) + "{unless stored}")
	_, err := repeated(ctx, a.kind, func() (sql.Result, error) { return on.ExecContext(ctx, statement, args...) },
		Contended)
	return err
}

// List lists the stored acts that match, the newest first, at most n. If the table is missing, there are none.
func (a Acts) List(ctx context.Context, f ActFilter, n int) ([]audit.Act, error) {
	if a.kept == 0 {
		return nil, nil
	}
	ms, seq := int64(math.MaxInt64), int64(math.MaxInt64)
	if f.Before != "" {
		ms, seq, _ = parseEntry(f.Before)
	}
	where := "records = ? AND ms >= ? AND ms <= ? AND (ms < ? OR seq < ?)"
	args := []any{a.names.Name, max(0, f.Since.UnixMilli()), ms, ms, seq}
	for column, value := range map[string]string{"who": f.Who, "act": f.Act} {
		if value != "" {
			where, args = where+" AND "+column+" = ?", append(args, textOf(value))
		}
	}
	if len(f.On) > 0 {
		where += " AND target IN (" + marks(len(f.On)) + ")"
		for _, on := range f.On {
			args = append(args, textOf(on))
		}
	}
	acts, err := collect(ctx, a.db, func(rows *sql.Rows) (one audit.Act, err error) {
		var ms, seq int64
		err = rows.Scan(&ms, &seq, &one.Who, &one.By, &one.From, &one.Act, &one.On, &one.N, &one.Answer, &one.Reason,
			&one.Detail)
		one.Entry, one.When = entryOf(ms, seq), time.UnixMilli(ms)
		return one, err
	}, a.sql("SELECT ms, seq, "+strings.Join(actColumns, ", ")+" FROM {audit} WHERE "+where+
		" ORDER BY ms DESC, seq DESC LIMIT "+strconv.Itoa(n)), args...)
	if a.kind.Is(err, NoTable|Denied|Unstorable) {
		return nil, nil // fanfold doctor says so; or no act has such a text
	}
	if err != nil {
		return nil, a.failed(err)
	}
	return acts, nil
}

// Prune deletes some of the rows that are older than they are kept. It tells whether there may be more.
func (a Acts) Prune(ctx context.Context) (more bool, err error) {
	n, err := changed(a.db.ExecContext(ctx, a.sql(a.kind.Prune("{audit}", "records = ? AND ", prunedActs)),
		a.names.Name, a.kept.Microseconds()))
	if a.kind.Is(err, NoTable|Denied) {
		return false, nil
	}
	return n == prunedActs, err
}

// Check checks that acts can be kept: that a row can be inserted, read and deleted. It changes nothing.
func (a Acts) Check(ctx context.Context) error {
	tx, err := a.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var n int
	if err = a.insert(ctx, tx, []audit.Act{{Entry: "0-0"}}, textOf); err == nil {
		err = tx.QueryRowContext(ctx, a.sql("SELECT COUNT(*) FROM {audit} WHERE records = ? AND ms = 0"),
			a.names.Name).Scan(&n)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, a.sql("DELETE FROM {audit} WHERE records = ? AND ms = 0"), a.names.Name)
	}
	if err != nil {
		return a.failed(err)
	}
	return nil
}

func (a Acts) failed(err error) error { return fmt.Errorf("table %s: %w", a.beside(auditTable), err) }

// parseEntry returns the two numbers of the id of an entry. It tells whether the table can have them: Redis accepts
// larger ones.
func parseEntry(id string) (ms, seq int64, ok bool) {
	first, second, _ := strings.Cut(id, "-")
	ms, err := strconv.ParseInt(first, 10, 64)
	seq, failed := strconv.ParseInt(second, 10, 64)
	return ms, seq, err == nil && failed == nil
}

func entryOf(ms, seq int64) string { return fmt.Sprintf("%d-%d", ms, seq) }
