package process

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/engine/recovery"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/stored"
	"github.com/fanfold/fanfold/record"
)

// These checks refuse keys of another number of partitions or of another installation.

// Layout returns the number of partitions, and whether their keys have tags, as MySQL stores it.
func (p *Process) Layout() string {
	if p.Partitions.First().Keys.Prefix == p.Config.Keys.Prefix {
		return "1"
	}
	return strconv.Itoa(len(p.Partitions)) + " tagged"
}

// partitions stores the layout. It refuses one that differs from the layout of earlier jobs.
func (p checks) partitions(ctx context.Context) error {
	now := p.Layout()
	noted, err := p.Records.NotePartitions(ctx, now)
	switch {
	case errors.Is(err, recovery.ErrNoTables): // openEngine logs it
		return nil
	case errors.Is(err, record.ErrPartitions):
		return otherPartitions(p.Process, noted)
	}
	return err
}

// otherPartitions is the error of a configuration whose partitions differ from the stored ones.
func otherPartitions(p *Process, noted string) error {
	return fault.Config.New("redis.partitions: jobs were started with %s partitions, but the configuration has %s: "+
		"use the configuration of the running processes; to change the number, let all jobs end, "+
		"stop all processes, and run fanfold repartition --from with the earlier configuration", noted, p.Layout())
}

// otherInstallation is the error of keys that belong to another installation, whose records are in
// another table: each installation would read the other's ids as its own.
func otherInstallation(p *Process, owner, tag string) error {
	keys := p.Partitions.First().Keys
	return fault.Config.New("redis_keys.prefix: the keys %s… in this Redis belong to the installation %s, and the records to %s: "+
		"give one of them another redis_keys.prefix and redis_keys.hash; if %s no longer exists, delete %s",
		keys.Prefix, owner, cmp.Or(tag, "none yet"), owner, keys.Installation)
}

// ownerTime bounds the wait of a command for the owner of the keys.
const ownerTime = time.Second

// CheckOwner refuses keys of another number of partitions or of another installation, if the owner is
// known, and what a newer release has written.
func (p *Process) CheckOwner(ctx context.Context) error {
	noted, err := p.Records.Partitions(ctx)
	if err == nil && noted != "" && noted != p.Layout() {
		return otherPartitions(p, noted)
	}
	if err == nil { // the database answers
		if _, err := p.Records.CheckVersions(ctx); stored.IsNewer(err) {
			return err
		}
	}
	quick, cancel := context.WithTimeout(ctx, ownerTime)
	defer cancel()
	if err := p.Partitions.First().Epoch.CheckVersion(quick); stored.IsNewer(err) {
		return err
	}
	owner, err := p.Partitions.First().Epoch.Installation(quick)
	if err != nil || owner == "" {
		return nil
	}
	// Read the tag after the owner: a process stores its tag before it claims the keys.
	if tag, err := p.Records.Installation(ctx); err == nil && owner != tag {
		return otherInstallation(p, owner, tag)
	}
	return nil
}

// owner notes this installation as the owner of the keys, if they have none.
func (p checks) owner(ctx context.Context) error {
	tag, err := p.Records.Install(ctx)
	if errors.Is(err, recovery.ErrNoTables) { // openEngine logs it
		return nil
	} else if err != nil {
		return err
	}
	owner, err := p.Partitions.First().Epoch.Claim(ctx, tag)
	if err != nil {
		p.log.Warn("the owner of the keys is unknown: another installation may use them",
			"key", p.Partitions.First().Keys.Installation, "err", err)
		return nil
	}
	if owner != tag {
		return otherInstallation(p.Process, owner, tag)
	}
	return nil
}
