package record

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/fanfold/fanfold/internal/stored"
)

// version is the name in fanfold_meta of the version of what the tables beside the record table
// contain; see package stored.
const version = "version"

// Versions are those of what MySQL stores.
type Versions struct {
	Steps, KnownSteps int // of fanfold migrate, for the tables beside the record table
	Snapshot          int // 0: none yet
}

// CheckVersions returns a *stored.Newer if a newer release has written the tables or their content
// and this one cannot use them. It returns recovery.ErrNoTables if the tables do not exist or may not
// be read.
func (s metadata) CheckVersions(ctx context.Context) (v Versions, err error) {
	v.KnownSteps = len(s.kind.Beside(beside(s.kind, s.names.Schema)))
	// The account may have no right to read the steps, but that to read the version of the content.
	v.Steps, err = made(ctx, s.db, s.kind, Table{s.names.Schema, versionTable}, v.KnownSteps)
	var content error
	v.Snapshot, content = s.contentVersion(ctx, s.db)
	if err != nil {
		err = s.tableError("read the version of the tables", err)
	}
	// A table of yours has no steps.
	own := Table{s.names.Schema, s.names.Name + "_migrations"}
	_, newer := made(ctx, s.db, s.kind, own, len(s.kind.Records(s.names)))
	if !stored.IsNewer(newer) {
		newer = nil
	}
	return v, errors.Join(err, content, newer)
}

// NoteVersion stores the version of the content that this release writes, if none or an older one is
// stored. It returns a *stored.Newer if a newer one is.
func (s metadata) NoteVersion(ctx context.Context) error {
	for range 3 {
		found, err := s.contentVersion(ctx, s.db)
		if err != nil || found >= stored.Snapshot.Writes {
			return err
		}
		before := strconv.Itoa(found)
		if found == 0 {
			before = ""
		}
		// If another process was faster, look again.
		if _, err := s.setMeta(ctx, "the version of the snapshot", version, before,
			strconv.Itoa(stored.Snapshot.Writes)); err != nil {
			return err
		}
	}
	return nil
}

// contentVersion returns the stored version of the content, 0 for none, and a *stored.Newer if this
// release does not know it.
func (s metadata) contentVersion(ctx context.Context, on querier) (int, error) {
	text, err := s.meta(ctx, on, version)
	if err != nil || text == "" {
		return 0, err
	}
	found, err := strconv.Atoi(text)
	if err != nil || found < 1 {
		return 0, fmt.Errorf("%s has the value %q for the name %q, which is not a version: delete the row, and "+
			"Fanfold stores it again", metaTable, text, s.scoped(version))
	}
	return found, stored.Snapshot.Check("the snapshot in the database",
		fmt.Sprintf("table %s, name %q", metaTable, s.scoped(version)), found)
}

// made returns how many steps a table of versions has. Newer steps are no error, unless a release
// must know them.
func made(ctx context.Context, on querier, k *Kind, versions Table, known int) (steps int, err error) {
	var needs int
	err = on.QueryRowContext(ctx, "SELECT COALESCE(MAX(version_id), 0), COALESCE(MAX(needs), 0) FROM "+
		k.Table(versions)).Scan(&steps, &needs)
	if err != nil {
		return 0, err
	}
	return steps, stored.Version{Reads: known}.Check("the layout of the tables in the database",
		"table "+versions.String(), needs)
}
