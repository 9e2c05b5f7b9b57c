package process

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/engine/recovery"
	"github.com/fanfold/fanfold/internal/stored"
	"github.com/fanfold/fanfold/step"
)

// These checks refuse what a newer release has written: the tables, the snapshot and the state in
// Redis. See package stored.

// versionsEvery is how often a running process compares the version of the state. It does not look at
// MySQL again: what a newer release writes there is refused when it is read.
const versionsEvery = 2 * time.Second

// versions refuses what this release does not know, and stores the versions that it writes. It
// looks at everything before it writes anything.
func (p checks) versions(ctx context.Context) error {
	_, err := p.Records.CheckVersions(ctx)
	unknown := errors.Is(err, recovery.ErrNoTables)
	if stored.IsNewer(err) || err != nil && !unknown {
		return err
	}
	if unknown {
		p.log.Warn("the version of the tables is unknown: "+
			"run fanfold migrate, and grant SELECT on fanfold_migrations", "err", err)
	}
	for _, s := range p.Partitions {
		if err := s.Epoch.CheckVersion(ctx); stored.IsNewer(err) {
			return err
		} // another error is found below
	}
	if err := p.Records.NoteVersion(ctx); err != nil && !errors.Is(err, recovery.ErrNoTables) {
		return err
	}
	for i, s := range p.Partitions {
		if err := s.Epoch.NoteVersion(ctx); stored.IsNewer(err) {
			return err
		} else if err != nil {
			p.log.Warn("the version of the state in a partition is unknown: trying again", "partition",
				strconv.Itoa(i), "err", err)
		}
	}
	return nil
}

// watchVersions stores the version of the state where Redis has lost it, until ctx ends or a newer
// release runs that this one cannot run beside. Then it returns an error, which stops the process.
func (p checks) watchVersions(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var newer error
	const what = "compare the version of the state in Redis"
	err := step.Every(ctx, p.log, versionsEvery, what, func(ctx context.Context) error {
		var failed error
		for _, s := range p.Partitions {
			err := s.Epoch.NoteVersion(ctx)
			if stored.IsNewer(err) {
				newer = err
				stop()
				return nil
			}
			failed = errors.Join(failed, err)
		}
		return failed
	})
	return errors.Join(err, newer)
}
