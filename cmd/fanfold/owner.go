package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/engine/record"
	"github.com/fanfold/fanfold/engine/recovery"
)

// Whose keys these are: of this number of partitions, and of this installation.

// divided says how Redis is divided, as it is noted in MySQL.
func (b *backend) divided() string {
	if b.partitions.Home().Keys.Prefix == b.config.Keys.Prefix {
		return "1"
	}
	return strconv.Itoa(len(b.partitions)) + " tagged"
}

// notePartitions refuses to work on keys with other names than those that jobs were started with.
func (b *backend) notePartitions(ctx context.Context) error {
	now := b.divided()
	noted, err := b.records.NotePartitions(ctx, now)
	switch {
	case errors.Is(err, recovery.ErrNoTables): // engine says what that means
		return nil
	case errors.Is(err, record.ErrPartitions):
		return b.otherPartitions(noted)
	}
	return err
}

// otherPartitions is the error of a configuration with other partitions than the noted ones.
func (b *backend) otherPartitions(noted string) error {
	return usage(fmt.Errorf("redis.partitions: jobs were started with %s partitions, and the configuration has %s: use the configuration that the processes have; to change the number, let all jobs end, stop all processes, and run fanfold repartition --from with the earlier configuration", noted, b.divided()))
}

// otherInstallation is the error of keys that belong to another installation, whose records are in
// another table: each would take the other's ids for its own.
func (b *backend) otherInstallation(owner, tag string) error {
	keys := b.partitions.Home().Keys
	return usage(fmt.Errorf("keys.prefix: the keys %s… in this Redis belong to the installation %s, and the records to %s: give one of them another keys.prefix and keys.hash; if %s is gone, delete %s", keys.Prefix, owner, cmp.Or(tag, "none yet"), owner, keys.Installation()))
}

// ownerTime is how long a command waits to learn whose keys these are.
const ownerTime = time.Second

// checkOwner refuses keys of other partitions or of another installation, as far as that is known.
func (b *backend) checkOwner(ctx context.Context) error {
	if noted, err := b.records.Partitions(ctx); err == nil && noted != "" && noted != b.divided() {
		return b.otherPartitions(noted)
	}
	quick, cancel := context.WithTimeout(ctx, ownerTime)
	defer cancel()
	owner, err := b.partitions.Home().Epoch.Installation(quick)
	if err != nil || owner == "" {
		return nil
	}
	// Read after that: a process notes the tag before it claims the keys.
	if tag, err := b.records.Installation(ctx); err == nil && owner != tag {
		return b.otherInstallation(owner, tag)
	}
	return nil
}

// claim notes whose keys these are.
func (b *backend) claim(ctx context.Context, log *slog.Logger) error {
	tag, err := b.records.Install(ctx)
	if errors.Is(err, recovery.ErrNoTables) { // engine says what that means
		return nil
	} else if err != nil {
		return err
	}
	owner, err := b.partitions.Home().Epoch.Claim(ctx, tag)
	if err != nil {
		log.Warn("whose keys these are is not known: another installation may use them", "key", b.partitions.Home().Keys.Installation(), "err", err)
		return nil
	}
	if owner != tag {
		return b.otherInstallation(owner, tag)
	}
	return nil
}
