package sinktest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/spool"
)

// spoolColumns are those of the datasets of these tests.
var spoolColumns = []string{"id", "note"}

// spoolChunk returns the fields of a chunk.
func spoolChunk(n int) [][]byte {
	note := strings.Repeat("note ", n+1)
	return [][]byte{fmt.Appendf(nil, "[%d,%d]", 2*n, 2*n+1), fmt.Appendf(nil, `["%s",null]`, note)}
}

// spooled writes a dataset of 7 chunks in segments of 3, and returns its ticket.
func spooled(t *testing.T, s *spool.Spool, n spool.Name) string {
	t.Helper()
	w := s.Create(n)
	ticket := w.URL()
	for chunk := range 7 {
		w.Add(2, spoolChunk(chunk))
		if chunk%3 < 2 && chunk < 6 {
			continue
		}
		segment, err := w.Commit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ticket += " " + segment.String()
	}
	return ticket
}

var spoolName = spool.Name{
	Report: "withdrawals", ID: "1111", Attempt: 1, Listener: "plt_fund.vs_withdraw", Writer: "W8F3K1ABCD",
}

// servesAsSpool: a dataset is read as it was written, in any order; what is missing or damaged is named; Drop deletes
// the segments of a job and no other.
func servesAsSpool(t *testing.T, p Place) {
	s := spool.New(spool.Options{Sink: p.Sink, Tag: "k7m2qx"})
	ticket := spooled(t, s, spoolName)
	if again := spooled(t, s, spoolName); again != ticket {
		t.Fatalf("the same dataset, written again, is %s, not %s", again, ticket)
	}
	r, err := s.Open(ticket, spoolColumns)
	if err != nil {
		t.Fatal(err)
	}
	get := func(chunk int64) error {
		fields, err := r.Get(t.Context(), []string{"note", "id"}, chunk)
		if err != nil {
			return err
		}
		c, err := dataset.DecodeChunk([]dataset.Column{{Name: "note"}, {Name: "id"}}, fields)
		if err != nil {
			return err
		}
		got := fmt.Appendf(nil, "[%s,%s][%s,%s]", c.Cell(1, 0), c.Cell(1, 1), c.Cell(0, 0), c.Cell(0, 1))
		if want := bytes.Join(spoolChunk(int(chunk)), nil); !bytes.Equal(got, want) {
			t.Fatalf("chunk %d is %s, want %s", chunk, got, want)
		}
		return nil
	}
	for _, chunk := range []int64{0, 6, 1, 5, 2, 4, 3, 3, 0} {
		if err := get(chunk); err != nil {
			t.Fatal(err)
		}
	}
	if err := get(7); err == nil {
		t.Fatal("there is a chunk behind the last one")
	}

	neighbour := spoolName
	neighbour.Attempt = 2
	spooled(t, s, neighbour)
	other := spool.New(spool.Options{Sink: p.Sink, Tag: "abcdef"})
	spooled(t, other, spoolName)
	put(t, p, name, contents)
	all := len(p.List(t))
	if err := s.Drop(t.Context(), "withdrawals", "1111", 1, nil); err != nil {
		t.Fatal(err)
	}
	if left := p.List(t); len(left) != all-3 || slices.ContainsFunc(left, func(n string) bool {
		return strings.Contains(n, "1111-1-k7m2qx=")
	}) {
		t.Fatalf("Drop left %q", left)
	}
	r, _ = s.Open(ticket, spoolColumns)
	missing, ok := errors.AsType[spool.Damaged](get(4))
	if want := spoolSegment(1); !ok || missing.URL != p.Sink.URL(want) {
		t.Fatalf("a missing segment is %v, want Damaged of %s", missing, want)
	}
}

// spoolSegment is the name of a segment of spoolName.
func spoolSegment(number int) string {
	n := spoolName
	n.Tag, n.Number = "k7m2qx", number
	return n.String()
}

// damagedSpool: no bytes of another segment are taken for those of the dataset.
func damagedSpool(t *testing.T, p Place) {
	s := spool.New(spool.Options{Sink: p.Sink, Tag: "k7m2qx"})
	ticket := spooled(t, s, spoolName)
	name := spoolSegment(0)
	whole := p.Read(t, name)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 1
	for what, damaged := range map[string][]byte{
		"truncated": whole[:len(whole)-1], "empty": nil, "longer": append(bytes.Clone(whole), 0), "flipped": flipped,
	} {
		remove(t, p, name)
		w, err := p.Sink.Create(t.Context(), sink.Object{Name: name, ContentType: "application/zstd"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(damaged); err != nil {
			t.Fatal(err)
		}
		commit(t, w)
		r, err := s.Open(ticket, spoolColumns)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Get(t.Context(), spoolColumns, 0); !errors.As(err, new(spool.Damaged)) {
			t.Errorf("a segment that is %s is %v, want Damaged", what, err)
		}
		if _, err := r.Get(t.Context(), spoolColumns, 3); err != nil {
			t.Errorf("the next segment: %v", err)
		}
	}
}
