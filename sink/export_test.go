package sink

import (
	"os"
	"testing"
)

// BreakFile makes the next Write to a directory's writer fail, as a full disk
// would, but nothing else.
func BreakFile(t *testing.T, w Writer) {
	d := w.(*writer).upload.(*dirUpload)
	readOnly, err := os.Open(d.file.Name())
	if err != nil {
		t.Fatal(err)
	}
	d.file.Close()
	d.file = readOnly
}
