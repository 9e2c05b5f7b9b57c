package files

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// TestScratch changes the environment, so it is not parallel.
func TestScratch(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	ctx, cancel := context.WithCancel(t.Context())
	file, err := NewScratch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	// Nothing is left behind, even if the process is killed now.
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("the folder has %v, error %v", entries, err)
	}
	if _, err := file.WriteAt([]byte("abc"), 5); err != nil {
		t.Error(err)
	}
	got := make([]byte, 2)
	if _, err := file.ReadAt(got, 6); err != nil || string(got) != "bc" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := CheckScratch(ctx); err != nil || got != folder {
		t.Errorf("the check: %q, %v", got, err)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("after the check the folder has %v, error %v", entries, err)
	}
	cancel()
	if _, err := CheckScratch(ctx); !isRetry(err) {
		t.Errorf("the check of a file that cannot be written: %v", err)
	}
	if _, err := file.ReadAt(got, 6); !isRetry(err) || !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	t.Setenv("TMPDIR", folder+"/missing")
	if _, err := NewScratch(ctx); !isRetry(err) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a folder: %v", err)
	}
	if _, err := CheckScratch(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the check without a folder: %v", err)
	}
	t.Setenv("TMPDIR", "")
	if _, err := os.Stat("/var/tmp"); err == nil && scratchFolder() != "/var/tmp" {
		t.Errorf("by default it is %s", scratchFolder())
	}
}

// TestAFullScratchDisk says what helps.
func TestAFullScratchDisk(t *testing.T) {
	t.Parallel()
	err := scratchError(&os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC})
	if !isRetry(err) || !strings.Contains(err.Error(), "TMPDIR") || !strings.Contains(err.Error(), "limits.fold_memory") {
		t.Error(err)
	}
}

// isRetry tells whether an error is a failure that counts as a try.
func isRetry(err error) bool {
	failed, ok := errors.AsType[*step.Failure](err)
	return ok && failed.Kind == step.Retry && failed.Blame == job.BlameSink
}
