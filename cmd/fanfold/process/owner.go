package process

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
func (p *Process) Divided() string {
	if p.Partitions.Home().Keys.Prefix == p.Config.Keys.Prefix {
		return "1"
	}
	return strconv.Itoa(len(p.Partitions)) + " tagged"
}

// notePartitions refuses to work on keys with other names than those that jobs were started with.
func (p *Process) notePartitions(ctx context.Context) error {
	now := p.Divided()
	noted, err := p.Records.NotePartitions(ctx, now)
	switch {
	case errors.Is(err, recovery.ErrNoTables): // engine says what that means
		return nil
	case errors.Is(err, record.ErrPartitions):
		return p.otherPartitions(noted)
	}
	return err
}

// otherPartitions is the error of a configuration with other partitions than the noted ones.
func (p *Process) otherPartitions(noted string) error {
	return ErrConfig.of(fmt.Errorf("redis.partitions: jobs were started with %s partitions, and the configuration has %s: use the configuration that the processes have; to change the number, let all jobs end, stop all processes, and run fanfold repartition --from with the earlier configuration", noted, p.Divided()))
}

// otherInstallation is the error of keys that belong to another installation, whose records are in
// another table: each would take the other's ids for its own.
func (p *Process) otherInstallation(owner, tag string) error {
	keys := p.Partitions.Home().Keys
	return ErrConfig.of(fmt.Errorf("keys.prefix: the keys %s… in this Redis belong to the installation %s, and the records to %s: give one of them another keys.prefix and keys.hash; if %s is gone, delete %s", keys.Prefix, owner, cmp.Or(tag, "none yet"), owner, keys.Installation()))
}

// ownerTime is how long a command waits to learn whose keys these are.
const ownerTime = time.Second

// checkOwner refuses keys of other partitions or of another installation, as far as that is known.
func (p *Process) CheckOwner(ctx context.Context) error {
	if noted, err := p.Records.Partitions(ctx); err == nil && noted != "" && noted != p.Divided() {
		return p.otherPartitions(noted)
	}
	quick, cancel := context.WithTimeout(ctx, ownerTime)
	defer cancel()
	owner, err := p.Partitions.Home().Epoch.Installation(quick)
	if err != nil || owner == "" {
		return nil
	}
	// Read after that: a process notes the tag before it claims the keys.
	if tag, err := p.Records.Installation(ctx); err == nil && owner != tag {
		return p.otherInstallation(owner, tag)
	}
	return nil
}

// claim notes whose keys these are.
func (p *Process) claim(ctx context.Context, log *slog.Logger) error {
	tag, err := p.Records.Install(ctx)
	if errors.Is(err, recovery.ErrNoTables) { // engine says what that means
		return nil
	} else if err != nil {
		return err
	}
	owner, err := p.Partitions.Home().Epoch.Claim(ctx, tag)
	if err != nil {
		log.Warn("the owner of the keys is unknown: another installation may use them", "key", p.Partitions.Home().Keys.Installation(), "err", err)
		return nil
	}
	if owner != tag {
		return p.otherInstallation(owner, tag)
	}
	return nil
}
