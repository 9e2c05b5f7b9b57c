package scripts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestExcerptsAreReadBack: what fits is read back, and a cut is recognised.
func TestExcerptsAreReadBack(t *testing.T) {
	t.Parallel()
	for text, fields := range map[string]map[string]string{
		"attempt=2 id=1111":             {"id": "1111", "attempt": "2"},
		`data="a b\"c" id=1 x=`:         {"id": "1", "data": `a b"c`, "x": ""},
		`"a b"=1 bytes="\xff" dots="…"`: {"a b": "1", "bytes": "\xff", "dots": "…"},
	} {
		if got := excerpt(fields); got != text {
			t.Errorf("%s, want %s", got, text)
		}
	}
	for _, text := range []string{"name=bad name due=5", "id=1 …", `id="1`, `id=1 data="abc …`, "id"} {
		if got, whole := ParseExcerpt(text); whole {
			t.Errorf("%s is %q", text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		fields := rapid.MapOfN(rapid.StringN(1, 20, -1), rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z0-9"=\\ …]{0,400}`)), 0, 6).Draw(t, "fields")
		text := excerpt(fields)
		got, whole := ParseExcerpt(text)
		if whole != !strings.HasSuffix(text, " "+cutMark) || len(text) > maxExcerpt {
			t.Fatalf("whole %v: %s", whole, text)
		}
		if whole && !cmp.Equal(fields, got) {
			t.Fatalf("%s: %q, not %q", text, got, fields)
		}
	})
}
