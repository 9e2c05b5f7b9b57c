package listeners

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// rows gives the writer so many rows of one column, whose values go on from from.
func rows(out *Writer, from, count int) error {
	for i := range count {
		out.Builder().Int(0, int64(from+i))
		if err := out.EndRow(); err != nil {
			return err
		}
	}
	return nil
}

func columns(t *testing.T, out *Writer) {
	t.Helper()
	if err := out.Columns([]dataset.Column{{Name: "c", Kind: report.KindInteger}}); err != nil {
		t.Fatal(err)
	}
}

// TestWriterTakesRowsWhileItStores: one chunk is stored at a time, in their order,
// and rows are taken meanwhile.
func TestWriterTakesRowsWhileItStores(t *testing.T) {
	t.Parallel()
	const chunks = 5
	turns := make(chan struct{})
	storing := make(chan struct{}, chunks+1)
	stored := 0
	out := NewWriter(func(columns []dataset.Column, b *dataset.Builder, last bool) error {
		storing <- struct{}{}
		if len(storing) > 1 {
			t.Error("two chunks are stored at once")
		}
		if !last {
			<-turns
		}
		chunk, err := dataset.DecodeChunk(columns, b.Fields())
		if err != nil {
			t.Error(err)
			return err
		}
		for row := range chunk.Rows() {
			if got := string(chunk.Cell(0, row)); got != strconv.Itoa(stored) {
				t.Errorf("value %d is %s", stored, got)
			}
			stored++
		}
		<-storing
		return nil
	})
	columns(t, out)
	if err := rows(out, 0, dataset.MaxChunkRows); err != nil {
		t.Fatal(err)
	}
	for n := 1; n < chunks; n++ {
		// The chunk before waits for its turn until all rows but one of this one are there.
		if err := rows(out, n*dataset.MaxChunkRows, dataset.MaxChunkRows-1); err != nil {
			t.Fatal(err)
		}
		turns <- struct{}{}
		if err := rows(out, (n+1)*dataset.MaxChunkRows-1, 1); err != nil {
			t.Fatal(err)
		}
	}
	turns <- struct{}{}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if stored != chunks*dataset.MaxChunkRows {
		t.Errorf("%d rows were stored, want %d", stored, chunks*dataset.MaxChunkRows)
	}
}

// TestWriterEndsWithTheFirstError: nothing is stored behind a chunk that was not.
func TestWriterEndsWithTheFirstError(t *testing.T) {
	t.Parallel()
	lost := errors.New("lost")
	for name, after := range map[string]int{"with the next chunk": dataset.MaxChunkRows, "with the last chunk": 7} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			out := NewWriter(func([]dataset.Column, *dataset.Builder, bool) error { calls++; return lost })
			columns(t, out)
			if err := rows(out, 0, dataset.MaxChunkRows); err != nil {
				t.Fatal(err)
			}
			err := rows(out, 0, after)
			if err == nil {
				err = out.Close()
			}
			if !errors.Is(err, lost) {
				t.Errorf("error %v", err)
			}
			out.Stop()
			if calls != 1 {
				t.Errorf("%d chunks were stored", calls)
			}
		})
	}
}

// TestWriterStops: nothing is being stored after it.
func TestWriterStops(t *testing.T) {
	t.Parallel()
	stop, ended := make(chan struct{}), false
	out := NewWriter(func([]dataset.Column, *dataset.Builder, bool) error {
		<-stop
		ended = true
		return nil
	})
	out.Stop()
	columns(t, out)
	if err := rows(out, 0, dataset.MaxChunkRows+1); err != nil {
		t.Fatal(err)
	}
	close(stop)
	out.Stop()
	if !ended {
		t.Error("a chunk is still being stored")
	}
}

// stuck is a way to Redis on which a call ends only with its context.
type stuck struct {
	redis.Hook
	first   sync.Once
	entered chan struct{} // closed by the first call
	inside  atomic.Int32
}

func (s *stuck) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		s.inside.Add(1)
		defer s.inside.Add(-1)
		s.first.Do(func() { close(s.entered) })
		<-ctx.Done()
		for range 1000 {
			runtime.Gosched()
		}
		cmd.SetErr(ctx.Err())
		return ctx.Err()
	}
}
func (s *stuck) DialHook(next redis.DialHook) redis.DialHook { return next }
func (s *stuck) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// failing is a source that fails while its first chunk is being stored.
type failing struct{ storing chan struct{} }

func (f failing) Read(_ context.Context, _ Task, out *Writer) error {
	if err := out.Columns([]dataset.Column{{Name: "c", Kind: report.KindInteger}}); err != nil {
		return err
	}
	if err := rows(out, 0, dataset.MaxChunkRows); err != nil {
		return err
	}
	<-f.storing
	return errors.New("bad data")
}

// TestASourceThatFailsWhileAChunkIsStored: the task ends with the source's error, and
// nothing goes on behind it.
func TestASourceThatFailsWhileAChunkIsStored(t *testing.T) {
	t.Parallel()
	b := prepare(t, minutely, report.Limits{}, nil)
	client := redis.NewClient(b.client.Options())
	defer client.Close()
	hook := &stuck{entered: make(chan struct{})}
	client.AddHook(hook)
	b.s = scripts.New(scripts.Options{Redis: client, Keys: b.s.Keys.Keys})
	b.runner.o.Scripts = b.s
	b.runner.o.Sources = map[string]Source{"db": failing{hook.entered}}
	err := b.runner.tasks(t.Context(), "a").read(t.Context(), b.claimed())
	if err == nil || err.Error() != "bad data" {
		t.Errorf("%v", err)
	}
	if n := hook.inside.Load(); n != 0 {
		t.Errorf("%d chunks are still being stored", n)
	}
}
