package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/recovery"
	"github.com/fanfold/fanfold/report"
)

// Partition is the part of a Store that belongs to one partition of Redis: its records, the epoch
// of its Redis, and the snapshot of delayed ids and timers.
type Partition struct {
	*Store
	index, of int
}

var (
	_ recovery.Store   = (*Partition)(nil)
	_ recovery.Records = (*Partition)(nil)
)

// Partition returns one of several partitions, numbered from 0; see report.Partition.
func (s *Store) Partition(index, of int) *Partition { return &Partition{s, index, of} }

// name returns a name in fanfold_meta.
func (s *Partition) name(what string) string {
	if s.of == 1 {
		return what
	}
	return what + " " + strconv.Itoa(s.index)
}

// maxParts is the maximum number of parts of a partition's snapshot. firstPart is the number of the
// first one.
const maxParts = 1_000_000

func (s *Partition) firstPart() int { return s.index * maxParts }

// Startable implements recovery.Records, for the records of the partition.
func (s *Partition) Startable(ctx context.Context, after string, grace time.Duration, n int) ([]engine.Record, error) {
	if s.of == 1 {
		return s.Store.Startable(ctx, after, grace, n)
	}
	l, err := s.known(ctx)
	if err != nil {
		return nil, err
	}
	size := min(n*s.of, maxScanned)
	for {
		// Not every database has CRC32, and all ids cost less than a function that has to be created in each.
		query, args := s.startableQuery(l, "SELECT "+l.idText()+" FROM {table}", after, grace, size)
		ids, err := collect(ctx, s.db, func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) },
			s.sql(query), args...)
		if err != nil {
			return nil, fmt.Errorf("read: %w", err)
		}
		var ours []string
		for _, id := range ids {
			if len(ours) == n {
				break
			}
			if after = id; report.Partition(id, s.of) == s.index {
				ours = append(ours, id)
			}
		}
		found, err := s.Read(ctx, ours)
		if err != nil {
			return nil, err
		}
		var page []engine.Record
		for _, id := range ours {
			if r := found[id]; slices.Contains(running, r.Status) && r.Age >= grace { // it may have changed
				page = append(page, r)
			}
		}
		if len(page) > 0 || len(ids) < size && len(ours) < n {
			return page, nil
		}
	}
}

// maxScanned is the maximum number of ids that are read at once to find those of a partition.
const maxScanned = 10_000

// Epoch implements recovery.Store.
func (s *Partition) Epoch(ctx context.Context) (string, error) {
	return s.meta(ctx, s.db, s.name(epoch))
}

// SetEpoch implements recovery.Store.
func (s *Partition) SetEpoch(ctx context.Context, before, now string) (bool, error) {
	return s.setMeta(ctx, "the epoch", s.name(epoch), before, now)
}

// partitions is the name of the number of partitions in fanfold_meta; onePartition is its value if
// keys have plain names.
const (
	partitions   = "partitions"
	onePartition = "1"
)

// ErrPartitions is returned if Redis had another number of partitions before.
var ErrPartitions = errors.New("another number of partitions")

// Partitions returns the number of partitions that NotePartitions stored; empty: none.
func (s metadata) Partitions(ctx context.Context) (string, error) {
	return s.meta(ctx, s.db, partitions)
}

// NotePartitions stores the number of partitions, as text such as 8, if none is stored. If another
// number is, it returns that and ErrPartitions.
func (s metadata) NotePartitions(ctx context.Context, now string) (noted string, err error) {
	for range 2 {
		if noted, err = s.Partitions(ctx); err != nil || noted == now {
			return noted, err
		}
		if noted == "" { // maybe a version without partitions was running
			before, err := s.meta(ctx, s.db, epoch)
			if err != nil {
				return "", err
			}
			if before != "" && now != onePartition {
				return onePartition, fmt.Errorf("%w: it is %s, and was %s", ErrPartitions, now, onePartition)
			}
		}
		if noted != "" {
			return noted, fmt.Errorf("%w: it is %s, and was %s", ErrPartitions, now, noted)
		}
		if _, err := s.setMeta(ctx, "the number of partitions", partitions, "", now); err != nil {
			return "", err
		}
	}
	return noted, nil
}

// SetPartitions stores another number of partitions, and deletes the epochs and snapshots of the
// earlier ones, which have no jobs any more.
func (s metadata) SetPartitions(ctx context.Context, now string) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("store the number of partitions: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, s.sql("DELETE FROM {snapshot} WHERE records = ?"), s.names.Name); err != nil {
		return s.tableError("delete the snapshot", err)
	}
	for _, name := range []string{epoch, snapshot} {
		name = s.scoped(name)
		if _, err := tx.ExecContext(ctx, s.sql("DELETE FROM {meta} WHERE name = ? OR LEFT(name, ?) = ?"), name,
			len(name)+1, name+" "); err != nil {
			return s.tableError("delete the epoch", err)
		}
	}
	name := s.scoped(partitions)
	_, err = tx.ExecContext(ctx, s.sql("DELETE FROM {meta} WHERE name = ?"), name)
	if err == nil {
		_, err = tx.ExecContext(ctx, s.sql("INSERT INTO {meta} (name, value) VALUES (?, ?)"), name, now)
	}
	if err != nil {
		return s.tableError("store the number of partitions", err)
	}
	return tx.Commit()
}
