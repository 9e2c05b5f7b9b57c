package format

import (
	"fmt"
	"io"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zip"
)

// archive is a zip archive of the files of one report. Its files have no times, so that the same rows become the
// same bytes.
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
	if !a.numbered {
		return a.Create(a.name + a.extension)
	}
	return a.Create(fmt.Sprintf("%s-%d%s", a.name, a.files, a.extension))
}
