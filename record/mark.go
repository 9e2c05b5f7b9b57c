package record

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"
)

// Mark tells a row from a later row with the same id. It is a digest of what a service writes once:
// report, parameters and, if the table has such a column, the time of the insert. Fanfold never
// changes them, so the mark stays the same for the life of a row. In a table without such a column,
// rows with the same id, report and parameters have the same mark.
type Mark [16]byte

// Marks returns the marks of those ids whose rows exist. A row whose parameters exceed
// limits.parameter_bytes is marked by their length.
func (s *Store) Marks(ctx context.Context, ids ...string) (map[string]Mark, error) {
	l, err := s.known(ctx)
	if err != nil {
		return nil, err
	}
	type marked struct {
		id   string
		mark Mark
	}
	scan := func(rows *sql.Rows) (m marked, err error) {
		var name string
		var given []byte
		var length int64
		var created sql.NullString
		if err := rows.Scan(&m.id, &name, &given, &length, &created); err != nil {
			return m, err
		}
		var plain []byte
		for _, part := range [][]byte{[]byte(m.id), []byte(name), given, []byte(created.String)} {
			plain = append(binary.BigEndian.AppendUint64(plain, uint64(len(part))), part...)
		}
		sum := sha256.Sum256(binary.BigEndian.AppendUint64(plain, uint64(length)))
		return marked{m.id, Mark(sum[:])}, nil
	}
	created := "NULL"
	if l.optional["created"] != "" && !l.createdMoves {
		created = s.kind.Instant(l.optional["created"], l.createdType)
	}
	selection := "SELECT " + l.idText() + ", COALESCE({report text}, ''), " + s.parameters() + ", " + created
	found := make(map[string]Mark, len(ids))
	for batch := range slices.Chunk(ids, maxIDs) {
		var args []any
		for _, id := range batch {
			if arg, ok := l.argument(id); ok {
				args = append(args, arg)
			}
		}
		if len(args) == 0 {
			continue
		}
		all, err := collect(ctx, s.db, scan, s.sql(selection+
			" FROM {table} WHERE {id} IN ("+marks(len(args))+"){filter}"), args...)
		if err != nil {
			return nil, fmt.Errorf("marks: %w", err)
		}
		for _, m := range all {
			found[m.id] = m.mark
		}
	}
	return found, nil
}
