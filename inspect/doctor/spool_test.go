package doctor

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/dir"
)

// faulty is a place with a fault. Its Check finds none.
type faulty struct {
	sink.Sink
	overwrites, hides, keeps, changes, refuses bool
}

func (faulty) Check(context.Context) error { return nil }

func (f faulty) Create(ctx context.Context, o sink.Object) (sink.Writer, error) {
	if f.overwrites {
		if err := f.Sink.Remove(ctx, o.Name); err != nil {
			return nil, err
		}
	}
	if f.refuses {
		return nil, sink.Refused(errors.New("403"))
	}
	return f.Sink.Create(ctx, o)
}

func (f faulty) Remove(ctx context.Context, name string) error {
	if f.keeps {
		return nil
	}
	return f.Sink.Remove(ctx, name)
}

func (f faulty) List(ctx context.Context, prefix string) iter.Seq2[sink.Listed, error] {
	if f.hides {
		return func(func(sink.Listed, error) bool) {}
	}
	return f.Sink.List(ctx, prefix)
}

func (f faulty) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if f.changes {
		return io.NopCloser(strings.NewReader("changed")), nil
	}
	return f.Sink.Open(ctx, name)
}

func (faulty) Hint(err error) string {
	if errors.Is(err, sink.ErrRefused) {
		return "correct the sink, or set sink.endpoint"
	}
	return ""
}

// TestSpool: doctor says which part of a spool does not work.
func TestSpool(t *testing.T) {
	t.Parallel()
	const may = "may this process create and delete objects there?"
	for name, c := range map[string]struct {
		faulty
		says, hint string
	}{
		"overwrites": {faulty{overwrites: true}, "it accepts a second object of the same name", ""},
		"hides":      {faulty{hides: true}, "listing its name does not find it", may},
		"keeps":      {faulty{keeps: true}, "listing its name still finds it", may},
		"changes":    {faulty{changes: true}, "an object has other bytes than were written", may},
		"refuses":    {faulty{refuses: true}, "403", "correct the spool, or set spool.endpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			under, err := dir.New(folder)
			if err != nil {
				t.Fatal(err)
			}
			f := c.faulty
			f.Sink = under
			found := spoolFinding(t, f)
			if found.Result != Fail || !strings.Contains(found.Detail, c.says) || found.Hint != c.hint {
				t.Errorf("%+v", found)
			}
			if left, _ := filepath.Glob(folder + "/fanfold-check/[^.]*"); len(left) > 0 && !f.keeps {
				t.Errorf("doctor left %s", left)
			}
		})
	}
}

// spoolFinding returns the finding of a spool.
func spoolFinding(t *testing.T, s sink.Sink) Finding {
	t.Helper()
	found := checkSpool(t.Context(), &doctor{Options: Options{
		Spool: "file:///spool", OpenSpool: func(context.Context) (sink.Sink, error) { return s, nil },
	}})
	if len(found) != 1 || found[0].Check != "spool file:///spool" {
		t.Fatalf("%+v", found)
	}
	return found[0]
}

// TestSpoolOnThisMachine: doctor says what is there, and how much space is left.
func TestSpoolOnThisMachine(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "spool")
	s, err := dir.New(folder)
	if err != nil {
		t.Fatal(err)
	}
	if f := spoolFinding(t, s); f.Result != Warn || !strings.Contains(f.Hint, "mkdir -p "+folder) {
		t.Errorf("without a directory: %+v", f)
	}
	for name, size := range map[string]int{"1-1-k7m2qx=a=0-w1=0.zst": 3 << 10, "1-1-k7m2qx=a=0-w1=1.zst": 1 << 10, "1-1-k7m2qx.csv": 9 << 10} {
		if err := os.MkdirAll(folder+"/orders", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(folder+"/orders/"+name, make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := spoolFinding(t, s)
	if f.Result != Pass || !strings.Contains(f.Detail, "it has 2 segments (4.0 KB), and ") || !strings.HasSuffix(f.Detail, "B are free") {
		t.Errorf("%+v", f)
	}
	if none := checkSpool(t.Context(), &doctor{Options: Options{Spool: report.SinkURL("")}}); none != nil {
		t.Errorf("without a spool: %+v", none)
	}
}
