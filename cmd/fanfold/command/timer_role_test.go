package command

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/scheduler/action"
)

// TestSchedulerLooksWhetherTimersCanSubmit: a scheduler whose timers submit reports does not start
// without the table for firings.
func TestSchedulerLooksWhetherTimersCanSubmit(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow, timersConfig)
	start := func(b *process.Process) error {
		_, err := b.Role(t.Context(), "scheduler", "c1", slog.New(slog.DiscardHandler))
		return err
	}
	if err := start(s.Open(s.File)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DB.Exec("DROP TABLE fanfold_firing"); err != nil {
		t.Fatal(err)
	}
	if err := start(s.Open(s.File)); !errors.Is(err, record.ErrNoFirings) || !strings.Contains(err.Error(), "fanfold migrate") {
		t.Errorf("without the table: %v", err)
	}
	if err := start(s.Open(s.Write("none.yaml", e2e.Slow))); err != nil {
		t.Errorf("no timer submits: %v", err)
	}
}

// TestSubmitSaysWhatIsWrong: the submitter of timers distinguishes an outage of the server, a
// refused insert and a missing table.
func TestSubmitSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := newStack(t, e2e.Slow, timersConfig)
	submit := func() error {
		_, err := process.Submitter{Records: s.Open(s.File).Records}.Submit(t.Context(), "weekly-0", 1, "slow", []byte("{}"))
		return err
	}
	if _, err := s.DB.Exec("ALTER TABLE file_download_record MODIFY id INT DEFAULT 0"); err != nil {
		t.Fatal(err)
	}
	if err := submit(); !errors.Is(err, action.ErrPermanent) || errors.Is(err, action.ErrOutage) {
		t.Errorf("an id that is not counted: %v", err)
	}
	if _, err := s.DB.Exec("CREATE TRIGGER closed BEFORE INSERT ON fanfold_firing FOR EACH ROW SIGNAL SQLSTATE '08004' SET MYSQL_ERRNO = 1053"); err != nil {
		t.Fatal(err)
	}
	if err := submit(); !errors.Is(err, action.ErrOutage) {
		t.Errorf("a server that shuts down: %v", err)
	}
	if _, err := s.DB.Exec("DROP TABLE fanfold_firing"); err != nil {
		t.Fatal(err)
	}
	if err := submit(); err == nil || errors.Is(err, action.ErrPermanent) || errors.Is(err, action.ErrOutage) {
		t.Errorf("without the table: %v", err)
	}
}
