package dir

import (
	"os"
	"testing"

	"github.com/fanfold/fanfold/sink"
)

// Breakable returns a writer, and what makes its next Write fail, as a full disk would, but nothing
// else.
func Breakable(t *testing.T, d *Sink, name string) (w sink.Writer, breaks func()) {
	u, err := d.root.create(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return sink.NewWriter(t.Context(), u), func() {
		readOnly, err := os.Open(u.file.Name())
		if err != nil {
			t.Fatal(err)
		}
		u.file.Close()
		u.file = readOnly
	}
}
