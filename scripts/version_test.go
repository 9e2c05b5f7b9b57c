package scripts

import (
	"errors"
	"testing"

	"github.com/fanfold/fanfold/internal/stored"
)

// TestVersion: a version is stored if there is none or an older one, and a newer one is refused.
func TestVersion(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	for _, c := range []struct {
		found, then   string
		newer, broken bool
	}{
		{found: "", then: "1"},
		{found: "0", then: "1"},
		{found: "1", then: "1"},
		{found: "2", then: "2", newer: true},
		{found: "10", then: "10", newer: true},
		{found: "x", then: "x", broken: true},
	} {
		client.Del(ctx, s.Keys.Version)
		if c.found != "" {
			client.Set(ctx, s.Keys.Version, c.found, 0)
		}
		for what, check := range map[string]error{"check": s.Epoch.CheckVersion(ctx), "note": s.Epoch.NoteVersion(ctx), "note again": s.Epoch.NoteVersion(ctx)} {
			if stored.IsNewer(check) != c.newer || errors.Is(check, ErrBroken) != c.broken || check != nil != (c.newer || c.broken) {
				t.Errorf("%s of %q: %v", what, c.found, check)
			}
		}
		if now := client.Get(ctx, s.Keys.Version).Val(); now != c.then {
			t.Errorf("%q became %q", c.found, now)
		}
	}
	client.HSet(ctx, s.Keys.Version+"2", "a", "b")
	client.Rename(ctx, s.Keys.Version+"2", s.Keys.Version)
	if err := s.Epoch.NoteVersion(ctx); !errors.Is(err, ErrBroken) {
		t.Errorf("a hash: %v", err)
	}
	if s.Keys.Type(s.Keys.Version) != "string" {
		t.Error("the key is not known, and would be left behind")
	}
}
