package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/internal/testenv"
)

// Server is the Redis of a stack, with its data.
type Server struct {
	testing.TB
	*testenv.Redis // nil: it is not alone
	p              *process.Process
}

// FlushAll deletes all data.
func (s Server) FlushAll() {
	s.Helper()
	for _, m := range masters(s, s.p) {
		if err := m.FlushAll(s.Context()).Err(); err != nil {
			s.Fatal(err)
		}
	}
}

// Folder returns the folder of its files.
func (s Server) Folder() string {
	s.Helper()
	dir := s.p.Redis.ConfigGet(s.Context(), "dir").Val()["dir"]
	if _, err := os.Stat(filepath.Join(dir, "appendonlydir")); err != nil {
		s.Fatal(err)
	}
	return dir
}

// Copy copies the data and returns a function that restarts the server from the copy.
func (s Server) Copy() (restart func()) {
	s.Helper()
	if err := s.p.Redis.ConfigSet(s.Context(), "appendfsync", "always").Err(); err != nil {
		s.Fatal(err)
	}
	data, backup := filepath.Join(s.Folder(), "appendonlydir"), s.TempDir()
	if err := os.CopyFS(backup, os.DirFS(data)); err != nil {
		s.Fatal(err)
	}
	return func() {
		s.Helper()
		s.Kill()
		err := errors.Join(os.RemoveAll(data), os.CopyFS(data, os.DirFS(backup)), s.Start(s.Context()))
		if err != nil {
			s.Fatal(err)
		}
	}
}
