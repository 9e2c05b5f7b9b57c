package value

import (
	"testing"

	"pgregory.net/rapid"
)

// TestUsualDatetimes: the form of most cells is parsed as the reader of all forms parses it.
func TestUsualDatetimes(t *testing.T) {
	t.Parallel()
	usual := 0
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringMatching(`[0-9]{3}[0-9x]-[01][0-9]-[0-3][0-9]([ T][0-2][0-9]:[0-6][0-9][:.][0-6][0-9])?`).
			Draw(t, "text"))
		for _, kind := range []Kind{Date, Datetime} {
			if _, ok := usualDatetime(text); ok {
				usual++
			}
			got, ok := ParseTemporal(text, kind)
			want, how := readTemporal(text, kind)
			if ok != (how == readWhole) || ok && got.Int != want.Int || got.Kind != kind {
				t.Fatalf("%s is %v, %v, but the reader says %v, %d", text, got.Clock(), ok, want.Clock(), how)
			}
		}
	})
	if usual == 0 {
		t.Error("no text had the usual form")
	}
}
