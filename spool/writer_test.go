package spool_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/spool"
)

// failing is a sink of which every write fails after a while.
type failing struct {
	sink.Sink
	after time.Duration
	tries *int
}

func (f failing) Create(context.Context, sink.Object) (sink.Writer, error) {
	*f.tries++
	time.Sleep(f.after) // of synctest
	return nil, errors.New("503")
}

// TestASpoolThatIsAway: a commit is tried again while its query stays open, and not behind a sink that hangs.
func TestASpoolThatIsAway(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]int{time.Millisecond: 4, 2 * time.Minute: 1} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			s := spool.New(spool.Options{Sink: failing{after: after, tries: &tries}})
			w := s.Create(spool.Name{Report: "r", ID: "1", Attempt: 1})
			if _, err := w.Commit(t.Context()); err == nil || tries != want {
				t.Errorf("every try takes %s: %d tries, %v", after, tries, err)
			}
		})
	}
}

// TestSegmentsThatAreNotCompressed have the arrays as they are, and any reader reads them.
func TestSegmentsThatAreNotCompressed(t *testing.T) {
	t.Parallel()
	place := directory(t, t.TempDir())
	array := "[" + strings.Repeat("7,", 1000) + "7]"
	var bytes []int64
	for _, plain := range []bool{true, false} {
		w := spool.New(spool.Options{Sink: place, Plain: plain}).Create(spool.Name{Report: "r", ID: "1", Attempt: 1, Listener: "a", Writer: strconv.FormatBool(plain)})
		ticket := w.URL()
		for range 2 {
			w.Add(1, [][]byte{[]byte(array), []byte("[1]")})
			segment, err := w.Commit(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ticket += " " + segment.String()
			bytes = append(bytes, segment.Bytes)
		}
		r, err := spool.New(spool.Options{Sink: place, Plain: !plain}).Open(ticket, []string{"c", "d"})
		if err != nil {
			t.Fatal(err)
		}
		for chunk := range int64(2) {
			fields, err := r.Get(t.Context(), []string{"c"}, chunk)
			if err != nil || (string(fields[0]) == array) != plain {
				t.Errorf("plain %t: %.20q %v", plain, fields, err)
			}
			if c, err := dataset.DecodeChunk([]dataset.Column{{Name: "c"}}, fields); err != nil || c.Rows() != 1001 {
				t.Errorf("plain %t: %v", plain, err)
			}
		}
	}
	if bytes[0] != bytes[1] || bytes[2] != bytes[3] || bytes[0] < 2000 || bytes[2] > 200 {
		t.Errorf("%d bytes", bytes)
	}
}
