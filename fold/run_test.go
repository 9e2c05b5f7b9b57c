package fold

import (
	"fmt"
	"os"
	"sync"

	"github.com/fanfold/fanfold/dataset/datasettest"
)

// scratchFiles are the scratch files of folds. Every fold must close its file.
type scratchFiles struct {
	t     datasettest.TB
	dir   string
	mutex sync.Mutex
	made  int
	open  int
	free  int64 // bytes that can be written; 0: any number

	read    func(p []byte) error // nil: nothing special
	written func(p []byte)
}

// scratchFile is an unlinked file.
type scratchFile struct {
	*os.File
	of *scratchFiles
}

func (s *scratchFiles) make() (Scratch, error) {
	f, err := os.CreateTemp(s.dir, "")
	if err != nil {
		return nil, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.made++
	s.open++
	return &scratchFile{f, s}, os.Remove(f.Name())
}

func (f *scratchFile) ReadAt(p []byte, at int64) (int, error) {
	if f.of.read != nil {
		if err := f.of.read(p); err != nil {
			return 0, err
		}
	}
	return f.File.ReadAt(p, at)
}

func (f *scratchFile) WriteAt(p []byte, at int64) (int, error) {
	if f.of.written != nil {
		f.of.written(p)
	}
	if f.of.free > 0 && at+int64(len(p)) > f.of.free {
		return 0, errDisk
	}
	return f.File.WriteAt(p, at)
}

func (f *scratchFile) Close() error {
	f.of.mutex.Lock()
	defer f.of.mutex.Unlock()
	f.of.open--
	return f.File.Close()
}

// closed checks that this number of files was created, and that all are closed.
func (s *scratchFiles) closed(made int) {
	s.t.Helper()
	if s.made != made || s.open != 0 {
		s.t.Fatal(fmt.Sprintf("%d scratch files were made, want %d; %d are open", s.made, made, s.open))
	}
}
