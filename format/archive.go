package format

import (
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zip"
)

// firstDay is the first one that a zip archive can have. All files have it, so that the same rows become the same
// bytes.
var firstDay = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// archive is a zip archive of the files of one report.
type archive struct {
	*zip.Writer
	name, extension string
	numbered        bool // the files are name-1, name-2 …; else there is one
	files           int
}

func newArchive(w io.Writer, name, extension string, numbered bool) *archive {
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(w, gzipLevel)
	})
	return &archive{Writer: z, name: name, extension: extension, numbered: numbered}
}

// next begins a file, which the next one or Close ends.
func (a *archive) next() (io.Writer, error) {
	a.files++
	name := a.name + a.extension
	if a.numbered {
		name = fmt.Sprintf("%s-%d%s", a.name, a.files, a.extension)
	}
	return a.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: firstDay})
}
