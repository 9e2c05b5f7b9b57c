package record

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/engine/recovery"
)

// sharedTable is the table of the records that have the file of another record's job. It belongs to Fanfold
// and is in the schema of the record table, even if that is a service's.
const sharedTable = "fanfold_shared"

// sharedYoung is how long a file is kept for a record that does not point to it yet.
const sharedYoung = time.Hour

// Sharing knows which records share the files of others. It is safe for concurrent use.
type Sharing struct{ s *Store }

var _ files.Sharing = Sharing{}

// Sharing returns the Sharing of the table.
func (s *Store) Sharing() Sharing { return Sharing{s} }

// key returns the key of a file: its name can be longer than an index allows.
func (Sharing) key(file string) []byte {
	sum := sha256.Sum256([]byte(file))
	return sum[:]
}

// Share implements files.Sharing. It returns recovery.ErrNoTables if the table does not exist.
func (h Sharing) Share(ctx context.Context, file string, ids []string) error {
	err := h.insert(ctx, file, ids...)
	if h.s.kind.Is(err, Duplicate) { // one of them has shared it before
		for _, id := range ids {
			if err = h.insert(ctx, file, id); err != nil && !h.s.kind.Is(err, Duplicate) {
				break
			}
			err = nil
		}
	}
	if err != nil {
		return h.s.tableError("share a file", err)
	}
	return nil
}

func (h Sharing) insert(ctx context.Context, file string, ids ...string) error {
	var args []any
	for _, id := range ids {
		args = append(args, h.s.names.Name, h.key(file), id)
	}
	_, err := repeated(ctx, h.s.kind, func() (sql.Result, error) {
		return h.s.db.ExecContext(ctx, h.s.sql("INSERT INTO {shared} (records, file, id) VALUES "+
			strings.TrimSuffix(strings.Repeat("(?, ?, ?), ", len(ids)), ", ")), args...)
	}, Contended)
	return err
}

// Sharers implements files.Sharing.
func (h Sharing) Sharers(ctx context.Context, of []string) (map[string][]string, error) {
	return h.sharers(ctx, of, "")
}

// sharers is Sharers for all rows that meet a condition, too.
func (h Sharing) sharers(ctx context.Context, of []string, condition string, more ...any) (map[string][]string, error) {
	byKey, args := map[string]string{}, []any{sharedYoung.Microseconds(), h.s.names.Name}
	for _, file := range of {
		key := h.key(file)
		byKey[string(key)], args = file, append(args, key)
	}
	args = append(args, more...)
	type row struct {
		key   []byte
		id    string
		young bool
	}
	rows, err := collect(ctx, h.s.db, func(rows *sql.Rows) (r row, err error) {
		return r, rows.Scan(&r.key, &r.id, &r.young)
	}, h.s.sql("SELECT file, id, made > {ago} FROM {shared} WHERE records = ? AND file IN ("+marks(len(of))+
		")"+condition+" ORDER BY made, id"), args...)
	switch {
	case h.absent(err):
		return nil, nil // so none is shared
	case err != nil:
		return nil, fmt.Errorf("who shares files: %w", err)
	}
	if h.s.shared.Store(true); len(rows) == 0 {
		return nil, nil
	}
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.id
	}
	records, err := h.s.read(ctx, ids, "")
	if err != nil {
		return nil, err
	}
	sharers := map[string][]string{}
	for _, r := range rows {
		file := byKey[string(r.key)]
		if record := records[r.id]; r.young || record.ID == r.id && record.File == file {
			sharers[file] = append(sharers[file], r.id)
		}
	}
	return sharers, nil
}

// Unshare implements files.Sharing.
func (h Sharing) Unshare(ctx context.Context, of []string) error {
	args := []any{h.s.names.Name}
	for _, file := range of {
		args = append(args, h.key(file))
	}
	_, err := h.s.db.ExecContext(ctx, h.s.sql("DELETE FROM {shared} WHERE records = ? AND file IN ("+
		marks(len(of))+")"), args...)
	if err == nil || h.absent(err) {
		return nil
	}
	return h.s.tableError("unshare files", err)
}

// absent reports whether an error says that the table does not exist, or that there is no grant for it, as after an
// upgrade. A table that could be read before is not absent: its files must not be deleted.
func (h Sharing) absent(err error) bool {
	return h.s.kind.Is(err, NoTable|Denied) && !h.s.shared.Load()
}

// Shares implements files.Sharing.
func (h Sharing) Shares(ctx context.Context, file, id string) (bool, error) {
	sharers, err := h.sharers(ctx, []string{file}, " AND id = ?", id) // others can be thousands
	return len(sharers[file]) > 0, err
}

// CheckSharing checks that files can be shared: the table exists. The error says what to do.
func (s *Store) CheckSharing(ctx context.Context) error {
	var n int
	if err := s.db.QueryRowContext(ctx, s.sql("SELECT COUNT(*) FROM {shared} WHERE 1 = 0")).Scan(&n); err != nil {
		return fmt.Errorf("%w: table %s: %w: create it with fanfold migrate", recovery.ErrNoTables,
			s.beside(sharedTable), err)
	}
	s.shared.Store(true)
	return nil
}
