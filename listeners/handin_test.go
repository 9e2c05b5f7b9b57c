package listeners

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/dir"
	"github.com/fanfold/fanfold/spool"
)

// written is a segment as docs/reference/keys.md describes it: of every chunk the JSON of its columns.
func written(t *testing.T, chunks ...[]string) []byte {
	t.Helper()
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	number := binary.LittleEndian.AppendUint32
	columns := 0
	var text, lengths []byte
	for _, chunk := range chunks {
		columns = len(chunk)
		for _, column := range chunk {
			before := len(text)
			text = encoder.EncodeAll([]byte(column), text)
			lengths = number(lengths, uint32(len(text)-before))
		}
	}
	size := uint32(20 + len(lengths))
	text = append(text, 0x50, 0x2a, 0x4d, 0x18)
	text = append(number(text, size), "FANFOLD1"...)
	text = append(number(number(text, uint32(columns)), uint32(len(chunks))), lengths...)
	return number(text, size)
}

// handing is a job whose service writes segments.
type handing struct {
	*outside
	root string // of the spool
}

// hookedSink calls a function before it opens an object.
type hookedSink struct {
	sink.Sink
	before func() error
}

func (s hookedSink) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := s.before(); err != nil {
		return nil, err
	}
	return s.Sink.Open(ctx, name)
}

// setupHanding starts the job with a spool.
func setupHanding(t *testing.T, processes int, change func(*outside)) handing {
	t.Helper()
	h := handing{root: t.TempDir()}
	h.outside = setupOutside(t, processes, func(o *outside) {
		o.spool = h.hooked(t, func() error { return nil })
		if change != nil {
			change(o)
		}
	})
	return h
}

// hooked returns a spool that calls a function before it opens a segment.
func (h handing) hooked(t *testing.T, before func() error) *spool.Spool {
	t.Helper()
	d, err := dir.New(h.root)
	if err != nil {
		t.Fatal(err)
	}
	return spool.New(spool.Options{Sink: hookedSink{d, before}, Tag: "abc234"})
}

// name is that of a segment.
func name(number int) string { return fmt.Sprintf("r/1-1-abc234=a=0-w1=%d.zst", number) }

// writes writes an object into the spool, and returns its URL.
func (h handing) writes(name string, text []byte) string {
	h.t.Helper()
	path := filepath.Join(h.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		h.t.Fatal(err)
	}
	return "file://" + path
}

// hands writes a segment of a worker and hands it in.
func (w spoken) hands(h handing, number int, chunks ...[]string) {
	h.t.Helper()
	w.says("rows", "number", fmt.Sprint(number), "segment", h.writes(name(number), written(h.t, chunks...)))
}

// wantSegments waits until the listener is done, and compares its segments, and the chunks of both columns.
func (h handing) wantSegments(segments int, want ...[]string) {
	h.t.Helper()
	state := h.until("done", func(s *job.State) bool { return s.Status == job.StatusReady })
	a := state.Tasks["a"]
	ticket, err := spool.ParseTicket(a.At)
	if err != nil || strings.Count(a.At, " ") != segments || a.Chunks != int64(len(want)) || state.Spooled != ticket.Bytes() ||
		state.Bytes != 0 {
		h.t.Fatalf("%d chunks at %q, %d bytes, %d in Redis: %v", a.Chunks, a.At, state.Spooled, state.Bytes, err)
	}
	store, err := h.spool.Open(a.At, []string{"c", "d"})
	if err != nil {
		h.t.Fatal(err)
	}
	columns, rows := []dataset.Column{{Name: "c"}, {Name: "d"}}, 0
	for n, texts := range want {
		fields, err := store.Get(h.t.Context(), []string{"c", "d"}, int64(n))
		if err != nil {
			h.t.Fatal(err)
		}
		got, err := dataset.DecodeChunk(columns, fields)
		if err != nil {
			h.t.Fatal(err)
		}
		for i, text := range texts {
			var cells []string
			for row := range got.Rows() {
				cells = append(cells, string(got.Cell(i, row)))
			}
			if got := "[" + strings.Join(cells, ",") + "]"; got != text {
				h.t.Errorf("chunk %d, column %d: %s, not %s", n, i, got, text)
			}
		}
		rows += got.Rows()
	}
	if a.Rows != int64(rows) {
		h.t.Errorf("%d rows, not %d", a.Rows, rows)
	}
	h.heard()
	h.ends()
}

// fails waits until the job fails for this reason.
func (o *outside) fails(want string) {
	o.t.Helper()
	state := o.until("failing", func(s *job.State) bool { return s.Status == job.StatusFailing })
	if !strings.Contains(state.Reason, want) {
		o.t.Errorf("%q, not %q", state.Reason, want)
	}
	o.heard()
	o.ends()
}

// TestSegmentsOfAService: in any order, over two processes, and twice; all columns, also those that the fold leaves out.
func TestSegmentsOfAService(t *testing.T) {
	t.Parallel()
	h := setupHanding(t, 2, func(o *outside) { o.fold = "SELECT d FROM a" })
	w := h.reads("w1")
	w.says("done", "chunks", "3")
	w.says("alive")
	w.hands(h, 2, []string{"[5]", `["e"]`})
	w.hands(h, 0, []string{`[1, "2"]`, "[\"a\", null ]"}, []string{"[]", "[]"})
	w.hands(h, 0, []string{`[1, "2"]`, "[\"a\", null ]"}, []string{"[]", "[]"})
	w.hands(h, 1, []string{"[12345678901234567890]", `["ü\u0000\ud83d\ude00"]`})
	w.says("done", "chunks", "3")
	h.wantSegments(3, []string{`[1,"2"]`, `["a",null]`}, []string{"[]", "[]"}, []string{"[12345678901234567890]", `["ü\u0000\ud83d\ude00"]`},
		[]string{"[5]", `["e"]`})
	if all := append(h.refusals(), h.quarantined()...); len(all) > 0 {
		t.Errorf("%q", all)
	}
}

// TestSegmentsOfAServiceWithoutASpool fail the try, because a process of an older configuration may have answered.
func TestSegmentsOfAServiceWithoutASpool(t *testing.T) {
	t.Parallel()
	o := setupOutside(t, 1, nil)
	o.reads("w1").says("rows", "number", "0", "segment", "file:///spool/"+name(0))
	state := o.until("a retry", func(s *job.State) bool { return !s.Tasks["a"].Next.IsZero() })
	if a := state.Tasks["a"]; a.Tries != 1 || a.Blame != job.BlameSpool || !strings.Contains(a.Error, "this process has no spool") {
		t.Errorf("%+v", a)
	}
}

// TestSegmentsThatNoTryCanUse fail the job at once.
func TestSegmentsThatNoTryCanUse(t *testing.T) {
	t.Parallel()
	good := written(t, []string{"[1]", `["a"]`})
	for what, c := range map[string]struct {
		name string // in the spool
		text []byte
		want string
	}{
		"of another job": {"r/2-1-abc234=a=0-w1=0.zst", good, "r/1-1-abc234=a=0-WRITER=0.zst"},
		"another number": {name(1), good, "=0.zst"},
		"uneven columns": {name(0), written(t, []string{"[1,2]", `["a"]`}), `column "d", byte 4: the array ends after 1 values`},
		"a wrong type":   {name(0), written(t, []string{`["x"]`, "[null]"}), `row 1: column "c": the value "x" is not of type integer`},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h := setupHanding(t, 1, nil)
			h.reads("w1").says("rows", "number", "0", "segment", h.writes(c.name, c.text))
			h.fails(c.want)
			if state, err := h.s.Jobs.Read(t.Context(), "1"); err != nil || state.Spooled > 0 {
				t.Errorf("%+v %v", state, err)
			}
		})
	}
	t.Run("a long URL", func(t *testing.T) {
		t.Parallel()
		h := setupHanding(t, 1, nil)
		h.reads("w1").says("rows", "number", "0", "segment", "file:///"+strings.Repeat("x", 5000))
		h.fails("a URL of at most 4096 bytes")
	})
}

// TestSegmentsThatAreDamaged fail the try, with their name; and the next one can succeed.
func TestSegmentsThatAreDamaged(t *testing.T) {
	t.Parallel()
	good := written(t, []string{"[1]", `["a"]`})
	changed := bytes.Clone(good)
	changed[9] ^= 0xff
	for what, text := range map[string][]byte{"missing": nil, "short": good[:len(good)-1], "changed": changed} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h := setupHanding(t, 1, nil)
			url := "file://" + filepath.Join(h.root, name(0))
			if text != nil {
				h.writes(name(0), text)
			} else if err := os.MkdirAll(h.root, 0o700); err != nil {
				t.Fatal(err)
			}
			h.reads("w1").says("rows", "number", "0", "segment", url)
			state := h.until("a retry", func(s *job.State) bool { return !s.Tasks["a"].Next.IsZero() })
			if a := state.Tasks["a"]; a.Tries != 1 || a.Blame != job.BlameSource || !strings.Contains(a.Error, url) {
				t.Errorf("%+v", a)
			}
			h.heard()
			h.ends()
			h.comes()
			w := h.reads("w2")
			w.hands(h, 0, []string{"[1]", `["a"]`})
			w.says("done", "chunks", "1")
			h.wantSegments(1, []string{"[1]", `["a"]`})
		})
	}
}

// TestRowsAndSegmentsInOneTask fail it, whichever comes first.
func TestRowsAndSegmentsInOneTask(t *testing.T) {
	t.Parallel()
	const want = "the task has rows and segments"
	rows := func(h handing, w spoken, number string) { w.says("rows", "number", number, "rows", `[[1,"a"]]`) }
	for what, mix := range map[string]func(h handing, w spoken){
		"rows last":   func(h handing, w spoken) { w.hands(h, 0, []string{"[1]", `["a"]`}); h.heard(); rows(h, w, "1") },
		"the same":    func(h handing, w spoken) { w.hands(h, 0, []string{"[1]", `["a"]`}); h.heard(); rows(h, w, "0") },
		"rows first":  func(h handing, w spoken) { rows(h, w, "0"); h.heard(); w.hands(h, 1, []string{"[1]", `["a"]`}) },
		"rows early":  func(h handing, w spoken) { rows(h, w, "1"); h.heard(); w.hands(h, 0, []string{"[1]", `["a"]`}) },
		"in no order": func(h handing, w spoken) { rows(h, w, "1"); w.hands(h, 0, []string{"[1]", `["a"]`}) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h := setupHanding(t, 1, nil)
			mix(h, h.reads("w1"))
			h.fails(want)
		})
	}
	t.Run("in one reply", func(t *testing.T) {
		t.Parallel()
		h := setupHanding(t, 1, nil)
		h.reads("w1").says("rows", "number", "0", "rows", "[]", "segment", "file:///x")
		h.fails("send one of them")
	})
}

// TestSegmentsOfTwoWriters: those of one task have one prefix.
func TestSegmentsOfTwoWriters(t *testing.T) {
	t.Parallel()
	h := setupHanding(t, 1, nil)
	w := h.reads("w1")
	w.hands(h, 0, []string{"[1]", `["a"]`})
	h.heard()
	w.says("rows", "number", "1", "segment", h.writes("r/1-1-abc234=a=1-w1=1.zst", written(t, []string{"[2]", `["b"]`})))
	h.fails("the URLs of all segments of a task begin with file://")
}

// TestSegmentsForAService: a listener whose rows another service reads in Redis cannot have segments.
func TestSegmentsForAService(t *testing.T) {
	t.Parallel()
	d, err := dir.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	task := &task{Task: Task{Listener: &report.Listener{Name: "a"}}, stored: stored{services: map[string]bool{"a": true}},
		Runner: &Runner{o: Options{Spool: spool.New(spool.Options{Sink: d})}}}
	if err := takesSegments(task); !errors.Is(err, errRead) {
		t.Error(err)
	}
}

// TestSegmentsWhileTheSpoolIsAway: that is no try.
func TestSegmentsWhileTheSpoolIsAway(t *testing.T) {
	t.Parallel()
	h := setupHanding(t, 0, nil)
	var reads atomic.Int64
	h.spool = h.hooked(t, func() error {
		if reads.Add(1) == 1 {
			return errors.New("503")
		}
		return nil
	})
	h.process("f", h.definition())
	w := h.reads("w1")
	w.hands(h, 0, []string{"[1]", `["a"]`})
	state := h.until("a retry", func(s *job.State) bool { return !s.Tasks["a"].Next.IsZero() })
	if a := state.Tasks["a"]; a.Tries != 0 || a.Blame != job.BlameSpool || !strings.Contains(a.Error, "503") {
		t.Errorf("%+v", a)
	}
	h.heard()
	h.ends()
	h.comes()
	w = h.reads("w2")
	w.hands(h, 0, []string{"[1]", `["a"]`})
	w.says("done", "chunks", "1")
	h.wantSegments(1, []string{"[1]", `["a"]`})
}

// TestSegmentsOfAZombie are not listed, and are deleted with the others.
func TestSegmentsOfAZombie(t *testing.T) {
	t.Parallel()
	h := setupHanding(t, 1, func(o *outside) { o.listener.Silence = 500 * time.Millisecond })
	late := h.reads("late")
	late.hands(h, 0, []string{"[9]", `["left over"]`})
	h.until("silent", func(s *job.State) bool {
		return s.Tasks["a"].Error == "worker late fell silent" && !h.delayed().IsZero()
	})
	h.ends()
	h.comes()
	w := h.reads("w1")
	w.says("alive")
	h.heard()
	late.says("rows", "number", "1", "segment", h.writes(name(1), written(t, []string{"[9]", `["late"]`})))
	h.heard()
	other := "r/1-1-abc234=a=0-w2=0.zst"
	w.says("rows", "number", "0", "segment", h.writes(other, written(t, []string{"[1]", `["a"]`})))
	w.says("done", "chunks", "1")
	h.wantSegments(1, []string{"[1]", `["a"]`})
	if got := h.refusals(); len(got) != 1 || !strings.HasPrefix(got[0], "late rows: entry ") ||
		!strings.HasSuffix(got[0], ": another worker has the task") {
		t.Errorf("%q", got)
	}
	if err := h.spool.Drop(t.Context(), "r", "1", 1, nil); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(h.root, "r", "*")); err != nil || len(left) > 0 {
		t.Errorf("%q %v", left, err)
	}
}

// TestSegmentsOfAWorkerThatLosesItsTask while one of them is read: it is not listed.
func TestSegmentsOfAWorkerThatLosesItsTask(t *testing.T) {
	t.Parallel()
	h := setupHanding(t, 0, func(o *outside) { o.listener.Silence = 500 * time.Millisecond })
	reading, lost := make(chan bool), make(chan bool)
	h.spool = h.hooked(t, func() error {
		reading <- true
		<-lost
		return nil
	})
	definition := h.definition()
	h.process("f", definition)
	w := h.reads("w1")
	w.hands(h, 0, []string{"[1]", `["a"]`})
	<-reading
	own, _ := h.s.Tasks.New(scripts.Message{ID: "1", Attempt: 1}, "a", scripts.Entry{})
	h.eventually("another one takes it", func() bool {
		h.client.HSet(t.Context(), h.s.Keys.Job("1"), "a:lease", 1) // which is renewed during the read
		outcome, err := own.Take(t.Context(), scripts.Take{Owner: "w2", Known: []string{definition.Hash()}})
		return err == nil && outcome == scripts.OK
	})
	close(lost)
	h.heard()
	state, err := h.s.Jobs.Read(t.Context(), "1")
	if a := state.Tasks["a"]; err != nil || a.At != "" || a.Owner != "w2" || state.Spooled != 0 {
		t.Errorf("%+v %v", state, err)
	}
	if got := h.refusals(); len(got) != 1 || got[0] != "w1 rows: another worker has the task" {
		t.Errorf("%q", got)
	}
}

// TestSegmentsThatNeverCome: done says how many there are, and the worker is silent.
func TestSegmentsThatNeverCome(t *testing.T) {
	t.Parallel()
	h := setupHanding(t, 1, func(o *outside) { o.listener.Silence = 600 * time.Millisecond })
	w := h.reads("w1")
	w.hands(h, 0, []string{"[1]", `["a"]`}, []string{"[2]", `["b"]`})
	w.says("done", "chunks", "2")
	const want = "done says 2 entries of rows, but number 1 did not arrive within 600ms: its chunks is the number of segments"
	h.until(want, func(s *job.State) bool { return s.Tasks["a"].Error == want && s.Spooled == 0 })
	h.ends()
	h.comes()
	w = h.reads("w2")
	w.hands(h, 0, []string{"[1]", `["a"]`}, []string{"[2]", `["b"]`})
	h.heard()
	w.hands(h, 1, []string{"[3]", `["c"]`})
	h.heard()
	w.says("done", "chunks", "1")
	state := h.until("failing", func(s *job.State) bool { return s.Status == job.StatusFailing })
	if want := "listener a: done says 1 entries of rows, but there were 2: its chunks is the number of segments"; state.Reason != want {
		t.Errorf("%q", state.Reason)
	}
}

// TestSegmentsThatAreLost: the task is delivered again, also while a later stage runs.
func TestSegmentsThatAreLost(t *testing.T) {
	t.Parallel()
	h := setupHanding(t, 1, nil)
	for try := range 2 {
		w := h.reads(fmt.Sprint("w", try))
		w.hands(h, 0, []string{"[1]", `["a"]`})
		w.says("done", "chunks", "1")
		h.wantSegments(1, []string{"[1]", `["a"]`})
		if try > 0 {
			break
		}
		state, err := h.s.Jobs.Read(t.Context(), "1")
		if err != nil {
			t.Fatal(err)
		}
		outcome, err := h.s.Folds.Reopen(t.Context(), scripts.Reopen{Message: scripts.Message{ID: "1", Attempt: 1},
			Listener: "a", At: state.Tasks["a"].At, Error: "lost"})
		if err != nil || outcome != scripts.OK {
			t.Fatal(outcome, err)
		}
	}
	if state, err := h.s.Jobs.Read(t.Context(), "1"); err != nil || state.Tasks["a"].Tries != 2 || len(h.refusals()) > 0 {
		t.Errorf("%+v %v %q", state, err, h.refusals())
	}
}

// TestLargeSegmentsTakeTurns: a reply waits while others are read, and is read again.
func TestLargeSegmentsTakeTurns(t *testing.T) {
	t.Parallel()
	slots := NewSlots(report.Limits{}, nil)
	for range maxReads {
		slots.reads <- struct{}{}
	}
	w := segments{&worker{external: &external{&Runner{slots: slots}}}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := w.read(ctx, spool.Name{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
