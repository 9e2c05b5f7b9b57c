package format

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zip"
)

// Deflate returns a compressor for zip archives. Its writers are reused, because a new one allocates a megabyte. The
// level must not change: a file that is written again must have the same bytes.
func Deflate(level int) zip.Compressor {
	writers := &sync.Pool{New: func() any {
		w, _ := flate.NewWriter(nil, level)
		return w
	}}
	return func(w io.Writer) (io.WriteCloser, error) {
		f := writers.Get().(*flate.Writer)
		f.Reset(w)
		return deflater{f, writers}, nil
	}
}

// deflater returns its writer for reuse when it is closed.
type deflater struct {
	*flate.Writer
	from *sync.Pool
}

// Close writes the rest.
func (d deflater) Close() error {
	err := d.Writer.Close()
	d.Reset(nil)
	d.from.Put(d.Writer)
	return err
}

var (
	deflate = Deflate(gzipLevel)
	// firstDay is the first one that a zip archive can have. All files have it, so that the same rows become the same
	// bytes.
	firstDay = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
)

// maxFiles is the maximum number of files in an archive, whose names are held in memory until its end.
const maxFiles = 10_000

// archive is a zip archive of the files of one report.
type archive struct {
	*zip.Writer
	name, extension string
	numbered        bool // the files are name-1, name-2 …; else there is one
	files           int
}

func newArchive(w io.Writer, name, extension string, numbered bool) *archive {
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate, deflate)
	return &archive{Writer: z, name: name, extension: extension, numbered: numbered}
}

// next begins a file, which the next one or Close ends.
func (a *archive) next() (io.Writer, error) {
	if a.files++; a.files > maxFiles {
		return nil, fmt.Errorf("%w: more than %d files in the archive: raise file.split.rows", ErrTooLarge, maxFiles)
	}
	name := a.name + a.extension
	if a.numbered {
		name = fmt.Sprintf("%s-%d%s", a.name, a.files, a.extension)
	}
	return a.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: firstDay})
}
