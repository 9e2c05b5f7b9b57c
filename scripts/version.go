package scripts

import (
	"context"
	"fmt"
	"strconv"

	"github.com/fanfold/fanfold/internal/stored"
)

// CheckVersion returns a *stored.Newer if a newer release has written the state of this partition
// than this one knows.
func (s Epoch) CheckVersion(ctx context.Context) error {
	text, err := s.get(ctx, s.Keys.Version)
	if err != nil || text == "" {
		return err
	}
	found, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("%w: %s is %.100q and not a version: delete it, and a process stores it again", ErrBroken,
			s.Keys.Version, text)
	}
	return s.newer(found)
}

// NoteVersion is CheckVersion, and stores the version that this release writes, if none or an older
// one is stored.
func (s Epoch) NoteVersion(ctx context.Context) error {
	found, err := s.outcome(ctx, call(ctx, "version", []string{s.Keys.Version}, stored.State.Writes))
	if err != nil {
		return fmt.Errorf("version of the state in %s: %w", s.Keys.Version, err)
	}
	return s.newer(int(found))
}

func (s Epoch) newer(found int) error {
	return stored.State.Check("the state in Redis", "key "+s.Keys.Version, found)
}
