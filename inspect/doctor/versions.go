package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/fanfold/fanfold/engine/recovery"
	"github.com/fanfold/fanfold/internal/stored"
	"github.com/fanfold/fanfold/scripts"
)

// checkVersions compares the versions of what is stored with those that this release knows.
func checkVersions(ctx context.Context, d *doctor) Finding {
	v, err := d.Records.CheckVersions(ctx)
	if errors.Is(err, recovery.ErrNoTables) && !stored.IsNewer(err) {
		return newFinding("stored versions", Warn, "", err,
			"run fanfold migrate, and grant the account SELECT on fanfold_migrations: without it, this release cannot find "+
				"out that a newer one has changed the tables")
	}
	for _, s := range d.Scripts {
		if wrong := s.Epoch.CheckVersion(ctx); stored.IsNewer(wrong) || errors.Is(wrong, scripts.ErrBroken) {
			err = errors.Join(err, wrong) // that Redis is away is another finding
		}
	}
	hint := stored.Remedy
	if !stored.IsNewer(err) {
		hint = "correct what the error names"
	}
	return newFinding("stored versions", Fail, fmt.Sprintf("this release knows all of them: state %d, snapshot %d, "+
		"tables %d of %d steps", stored.State.Writes, stored.Snapshot.Writes, v.Steps, v.KnownSteps), err, hint)
}
