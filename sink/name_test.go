package sink_test

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/sink"
)

// Whatever CheckName lets pass stays below the root, is its own path, and needs
// no escaping; what it refuses it refuses for one of these reasons.
func TestCheckName(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`([a-zA-Z0-9._=+@-]{1,3}|\.\.|[/ %?#\\ä]){1,8}`).Draw(t, "name")
		if sink.CheckName(name) != nil {
			return
		}
		if path := filepath.Join("/root", name); path != "/root/"+name || strings.Contains(path, "/.") {
			t.Fatalf("%q leads to %q", name, path)
		}
		if got := (&url.URL{Path: "/" + name}).EscapedPath(); got != "/"+name {
			t.Fatalf("%q is escaped to %q", name, got)
		}
	})
	for _, good := range []string{"a", "withdrawals/1111-1.csv", "A/b/c_d-e.f=g+h@i", strings.Repeat("x", 200)} {
		if err := sink.CheckName(good); err != nil {
			t.Error(err)
		}
	}
}
