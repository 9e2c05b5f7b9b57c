package screen

import (
	"bytes"
	"testing"
)

// TestScreen writes texts that come in pieces as if they came whole.
func TestScreen(t *testing.T) {
	t.Parallel()
	text, want := "ä\x1b€\x9bend\u0085 😀\tx\n", `ä\u001b€`+"\uFFFD"+`end\u0085 😀`+"\tx\n"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		s := New(&out)
		for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
			if _, err := s.Write([]byte(rest[:min(size, len(rest))])); err != nil {
				t.Fatal(err)
			}
		}
		if out.String() != want {
			t.Errorf("%d: %q", size, out.String())
		}
	}
}
