package record

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/engine/recovery"
)

// Partition is the part of a Store that one partition of Redis has: its records, which memory
// Redis has, and the snapshot of what is due later.
type Partition struct {
	*Store
	index, of int
}

var (
	_ recovery.Store   = (*Partition)(nil)
	_ recovery.Records = (*Partition)(nil)
)

// Partition returns one of several partitions, counted from 0; see report.Partition.
func (s *Store) Partition(index, of int) *Partition { return &Partition{s, index, of} }

// name is a name in fanfold_meta.
func (s *Partition) name(what string) string {
	if s.of == 1 {
		return what
	}
	return what + " " + strconv.Itoa(s.index)
}

// maxParts is the max number of parts of the snapshot of a partition. firstPart is the number of
// the first one.
const maxParts = 1_000_000

func (s *Partition) firstPart() int { return s.index * maxParts }

// Startable implements recovery.Records: those of the partition.
func (s *Partition) Startable(ctx context.Context, after string, grace time.Duration, n int) ([]engine.Record, error) {
	if s.of == 1 {
		return s.Store.Startable(ctx, after, grace, n)
	}
	l, err := s.known(ctx)
	if err != nil {
		return nil, err
	}
	// The bytes of the id as Go has it, whatever the column's character set or ZEROFILL.
	id := "CONVERT(" + s.columns["id"] + " USING utf8mb4)"
	if l.integerID {
		id = "CONVERT(CONCAT(" + s.columns["id"] + " + 0) USING utf8mb4)"
	}
	return s.startableAnd(ctx, fmt.Sprintf(" AND CRC32(%s) %% %d = %d", id, s.of, s.index), after, grace, n)
}

// Epoch implements recovery.Store.
func (s *Partition) Epoch(ctx context.Context) (string, error) {
	return s.meta(ctx, s.db, s.name(epoch))
}

// SetEpoch implements recovery.Store.
func (s *Partition) SetEpoch(ctx context.Context, before, now string) (bool, error) {
	ok, err := contended(ctx, func() (bool, error) { return s.setMeta(ctx, s.db, s.name(epoch), before, now) })
	if err != nil {
		return false, tableError("note epoch", err)
	}
	return ok, nil
}

// partitions is the name of their number in fanfold_meta, onePartition that of one with plain
// names.
const (
	partitions   = "partitions"
	onePartition = "1"
)

// ErrPartitions is returned if Redis was divided into another number of partitions before.
var ErrPartitions = errors.New("record: another number of partitions")

// Partitions returns into how many partitions Redis is divided, as NotePartitions has noted it;
// empty where nothing is noted.
func (s *Store) Partitions(ctx context.Context) (string, error) { return s.meta(ctx, s.db, partitions) }

// NotePartitions notes into how many partitions Redis is divided, as text such as 8, if nothing
// is noted yet. If something else is, it returns ErrPartitions with that.
func (s *Store) NotePartitions(ctx context.Context, now string) (noted string, err error) {
	for range 2 {
		if noted, err = s.Partitions(ctx); err != nil || noted == now {
			return noted, err
		}
		if noted == "" { // perhaps of a version that knew no partitions
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
		if _, err := contended(ctx, func() (bool, error) { return s.setMeta(ctx, s.db, partitions, "", now) }); err != nil {
			return "", tableError("note partitions", err)
		}
	}
	return noted, nil
}

// SetPartitions notes another number of partitions. What was kept of the earlier ones, which have
// no jobs any more, is forgotten.
func (s *Store) SetPartitions(ctx context.Context, now string) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("record: note partitions: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, "DELETE FROM "+s.beside(snapshotTable)+" WHERE records = ?", s.names.table); err != nil {
		return tableError("forget the snapshot", err)
	}
	for _, name := range []string{epoch, snapshot} {
		name = s.scoped(name)
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+s.beside(metaTable)+" WHERE name = ? OR LEFT(name, ?) = ?", name, len(name)+1, name+" "); err != nil {
			return tableError("forget the epoch", err)
		}
	}
	if _, err := tx.ExecContext(ctx, "REPLACE INTO "+s.beside(metaTable)+" (name, value) VALUES (?, ?)", s.scoped(partitions), now); err != nil {
		return tableError("note partitions", err)
	}
	return tx.Commit()
}
