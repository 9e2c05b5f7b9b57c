package spool_test

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
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/dir"
	"github.com/fanfold/fanfold/spool"
)

// memory is a sink with one object.
type memory struct {
	sink.Sink
	text []byte
}

func (m memory) Open(context.Context, string) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(m.text)), nil
}
func (memory) URL(name string) string         { return "m://" + name }
func (memory) Name(url string) (string, bool) { return strings.CutPrefix(url, "m://") }

// byHand is a segment of frames by chunk and column.
func byHand(columns int, frames ...string) []byte {
	number := binary.LittleEndian.AppendUint32
	var text, lengths []byte
	for _, f := range frames {
		text, lengths = append(text, f...), number(lengths, uint32(len(f)))
	}
	size := uint32(20 + len(lengths))
	text = append(text, 0x50, 0x2a, 0x4d, 0x18)
	text = append(number(text, size), "FANFOLD1"...)
	text = append(number(number(text, uint32(columns)), uint32(len(frames)/max(1, columns))), lengths...)
	return number(text, size)
}

var twoColumns = []dataset.Column{{Name: "c", Kind: report.KindInteger}, {Name: "d", Kind: report.KindText}}

// FuzzCheck: whatever passes the check can be read as its ticket says, with as many values in each column, of its type.
func FuzzCheck(f *testing.F) {
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	frame := func(text string) string { return string(encoder.EncodeAll([]byte(text), nil)) }
	f.Add(byHand(2, frame(`[1, "2"]`), frame(`["a",null]`), frame("[]"), frame("[]")))
	f.Add(byHand(2, frame(`[1]`)+frame(``), "[null]"))
	f.Add(byHand(2, frame(`["x"]`), frame(`["a"]`)))
	f.Add(byHand(1, frame(`["x"]`)))
	f.Add(byHand(0))
	names := []string{"c", "d"}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := spool.New(spool.Options{Sink: memory{text: text}})
		n := spool.Name{Report: "r", ID: "1", Attempt: 1, Listener: "a", Writer: "w"}
		got, err := s.Check(t.Context(), n, twoColumns)
		if err != nil {
			if !errors.As(err, new(spool.Damaged)) && !errors.As(err, new(spool.Unfit)) {
				t.Error(err)
			}
			return
		}
		r, err := s.Open(s.URL(n)+" "+got.String(), names)
		if err != nil {
			t.Fatal(err)
		}
		rows := 0
		for number := range got.Chunks {
			fields, err := r.Get(t.Context(), names, number)
			if err != nil {
				t.Fatal(err)
			}
			chunk, err := dataset.DecodeChunk(twoColumns, fields)
			if err != nil {
				t.Fatal(err)
			}
			for row := range chunk.Rows() {
				page := fmt.Appendf(nil, "[[%s,%s]]", chunk.Cell(0, row), chunk.Cell(1, row))
				if _, _, err := dataset.Rows(names, []report.Kind{report.KindInteger, report.KindText}, page); err != nil {
					t.Errorf("%s: %v", page, err)
				}
			}
			rows += chunk.Rows()
		}
		if int64(rows) != got.Rows {
			t.Errorf("%d rows, not %d", rows, got.Rows)
		}
	})
}

// TestHandedNames: the name of a segment is that of its task and number.
func TestHandedNames(t *testing.T) {
	t.Parallel()
	place, err := dir.New("/spool with space")
	if err != nil {
		t.Fatal(err)
	}
	s := spool.New(spool.Options{Sink: place, Tag: "abc234"})
	listener := strings.Repeat("a", 70)
	of := spool.Name{Report: "r", ID: "1", Attempt: 2, Listener: listener, Number: 3}
	const root = "file:///spool%20with%20space/"
	short := listener[:60]
	n, err := s.Handed(root+"r/1-2-abc234="+short+"=7-W1=3.zst", of)
	if err != nil || n.Writer != "W1" || n.Generation != 7 || s.URL(n) != "file:///spool%2520with%2520space/r/1-2-abc234="+short+"=7-W1=" {
		t.Errorf("%+v %v", n, err)
	}
	const want = `does not have the form file:///spool%20with%20space/r/1-2-abc234=aaaa`
	for _, c := range []struct{ url, differs string }{
		{root + "q/1-2-abc234=" + short + "=7-W1=3.zst", "report"}, {root + "r/2-2-abc234=" + short + "=7-W1=3.zst", "id"},
		{root + "r/1-1-abc234=" + short + "=7-W1=3.zst", "attempt"}, {root + "r/1-2-abc235=" + short + "=7-W1=3.zst", "tag"},
		{root + "r/1-2=" + short + "=7-W1=3.zst", "tag"}, {root + "r/1-2-abc234=a=7-W1=3.zst", "listener"},
		{root + "r/1-2-abc234=" + listener + "=7-W1=3.zst", ""}, {root + "r/1-2-abc234=" + short + "=7-W1=2.zst", "number"},
		{root + "r/1-2-abc234=" + short + "=7-W1=03.zst", ""}, {root + "r/1-2-abc234=" + short + "=07-W1=3.zst", ""},
		{root + "r/1-2-abc234=" + short + "=7-=3.zst", ""}, {root + "r/1-2-abc234=" + short + "=7-w-1=3.zst", ""},
		{root + "../r/1-2-abc234=" + short + "=7-W1=3.zst", ""}, {root + "r/1-2-abc234.csv", ""},
		{"file:///r/1-2-abc234=" + short + "=7-W1=3.zst", ""}, {"gs://bucket/r/1-2-abc234=" + short + "=7-W1=3.zst", ""}, {"1", ""},
	} {
		n, err := s.Handed(c.url, of)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "=0-WRITER=3.zst, where WRITER is") {
			t.Errorf("%s: %+v %v", c.url, n, err)
		} else if _, part, _ := strings.Cut(err.Error(), ": its "); part != "" && part != c.differs+" differs" || part == "" && c.differs != "" {
			t.Errorf("%s: %v", c.url, err)
		}
	}
	of.Writer = "w9"
	if n, err := s.Handed(root+"r/1-2-abc235=a=7-W1=3.zst", of); err == nil || !strings.HasSuffix(err.Error(), "=0-w9=3.zst: its tag differs") {
		t.Errorf("%+v %v", n, err)
	}
}

// TestWhatDropDeletes of what a service has left in a directory: the guide says it.
func TestWhatDropDeletes(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	place, err := dir.New(root)
	if err != nil {
		t.Fatal(err)
	}
	const name = "1-2-abc234=a=0-w1=0.zst"
	for file, stays := range map[string]bool{
		name: false, ".tmp/" + name + ".0123456789abcdef.tmp": false,
		"1-2-abc234=a=0-w1=0": true, "1-2-abc234=a=0-w-1=0.zst": true, "1-2-abc235=a=0-w1=0.zst": true, name + ".tmp": true,
		".tmp/" + name: true, ".tmp/" + name + ".tmp": true,
	} {
		path := filepath.Join(root, "r", file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		if err := spool.New(spool.Options{Sink: place, Tag: "abc234"}).Drop(t.Context(), "r", "1", 2, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(path); (err == nil) != stays {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestHandedIsChecked: what is damaged, and what no try could use.
func TestHandedIsChecked(t *testing.T) {
	t.Parallel()
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	made := func(columns int, texts ...string) []byte {
		for i, text := range texts {
			texts[i] = string(encoder.EncodeAll([]byte(text), nil))
		}
		return byHand(columns, texts...)
	}
	good := made(2, "[1]", `["a"]`, "[2]", `["b"]`)
	changed := func(at int, to byte) []byte {
		text := bytes.Clone(good)
		text[(at+len(text))%len(text)] = to
		return text
	}
	size := len(good) - 4 - 16 - 8 // where the number of columns is
	many := "[" + strings.Repeat("1,", dataset.MaxChunkRows) + "1]"
	for _, c := range []struct {
		text []byte
		want string // empty: it is damaged
	}{
		{[]byte{}, ""}, {good[:len(good)-1], ""}, {byHand(0)[:20], ""}, {[]byte(strings.Repeat("x", 100)), ""},
		{changed(9, good[9]^0xff), ""}, // a frame
		{changed(size-1, '2'), ""},     // the magic
		{changed(size+4, 3), ""},       // the number of chunks
		{changed(size+7, 0xff), ""},    // it is huge
		{changed(size, 4), ""},         // that of columns
		{changed(size+11, 0xff), ""},   // the length of a frame
		{changed(size+8, good[size+8]+1), ""}, {changed(-1, 1), ""},
		{made(2, "[1]", `["a"]`, "[1]", `["a","b"]`), `chunk 2: column "d", byte 8: the array ends after 2 values, but column "c" has 1`},
		{made(2, "[1]", `[["a"]]`), ""}, {made(2, "[1]", `"a"`), ""},
		{made(2, "[1]", "[\"\xff\"]"), ""}, {made(2, "[1]", `["a"]x`), ""},
		{made(2, "[1]", `["`+strings.Repeat("x", 17<<20)+`"]`), ""},
		{made(2, "[1,2]", `["a","b"]`, `[3,"x"]`, "[null,null]"), `chunk 2: row 2: column "c": the value "x" is not of type integer`},
		{made(2, "[1.5]", `["a"]`), "the value 1.5 is not of type integer"},
		{made(1, "[1]"), "has 1 columns, but its listener has 2"},
		{made(2, many, many), "10001 rows and"},
		{made(2, "[1]", `["`+strings.Repeat("x", 1<<20)+`"]`), "1 rows and 1048583 bytes of JSON: at most 10000 and 1048576 are allowed"},
		{made(2), "has no chunk"},
		{made(0), "has 0 columns"},
	} {
		n := spool.Name{Report: "r", ID: "1", Attempt: 1, Listener: "a", Writer: "w"}
		_, err := spool.New(spool.Options{Sink: memory{text: c.text}}).Check(t.Context(), n, twoColumns)
		if damaged := errors.As(err, new(spool.Damaged)); damaged != (c.want == "") || !damaged && !errors.As(err, new(spool.Unfit)) ||
			!strings.Contains(err.Error(), "segment m://r/1-1=a=0-w=0.zst ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, not %q", err, c.want)
		}
	}
}

// TestHandedIndex: the error says which field of the index is wrong, and what it should be.
func TestHandedIndex(t *testing.T) {
	t.Parallel()
	good := byHand(2, "[1]", `["a"]`, "[2]", `["b"]`) // 16 bytes of frames, 8 of a header, and an index of 36
	changed := func(at int, to byte) []byte {
		text := bytes.Clone(good)
		text[at] = to
		return text
	}
	for want, text := range map[string][]byte{
		"it has 0 bytes: with an index it has at least 28":                                                        {},
		"it has 27 bytes: with an index it has at least 28":                                                       good[len(good)-27:],
		"its last 4 bytes say that the index has 9216 bytes, not 20 to 51":                                        good[:len(good)-1],
		"its last 4 bytes say that the index has 2021161080 bytes, not 20 to 92":                                  bytes.Repeat([]byte("x"), 100),
		"the frame of its index of 36 bytes begins with 0x184D2A51, not 0x184D2A50":                               changed(16, 0x51),
		"its index has 36 bytes as its last 4 bytes say, but 32 as its frame says":                                changed(20, 32),
		`its index begins with "FANFOLD2", not "FANFOLD1"`:                                                        changed(31, '2'),
		"its index says 3 columns × 2 chunks = 6 frames, but has 16 bytes of lengths, which are 4 for each frame": changed(32, 3),
		"its index says 2 columns × 1 chunks = 2 frames, but has 16 bytes of lengths":                             changed(36, 1),
		"its index says that its frames have 17 bytes, but there are 16 before it":                                changed(40, 4),
	} {
		n := spool.Name{Report: "r", ID: "1", Attempt: 1, Listener: "a", Writer: "w"}
		_, err := spool.New(spool.Options{Sink: memory{text: text}}).Check(t.Context(), n, twoColumns)
		if !errors.As(err, new(spool.Damaged)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}
}

// TestHandedIsLimited: in size, and so is what its frames are expanded to.
func TestHandedIsLimited(t *testing.T) {
	t.Parallel()
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	n := spool.Name{Report: "r", ID: "1", Attempt: 1, Listener: "a", Writer: "w"}
	half := string(encoder.EncodeAll([]byte(`["`+strings.Repeat("x", 1<<19)+`"]`), nil))
	ints := string(encoder.EncodeAll([]byte("[1]"), nil))
	var frames []string
	for range 2050 {
		frames = append(frames, ints, half)
	}
	for want, text := range map[string][]byte{
		"has more than 64 MB: write several":                             make([]byte, 64<<20+1),
		"chunk 2048: the chunks so far have more than 1024 MB of JSON: ": byHand(2, frames...),
		"chunk 1 has frames of":                                          byHand(2, "["+strings.Repeat("1,", 3<<20)+"1]", ints),
	} {
		_, err := spool.New(spool.Options{Sink: memory{text: text}}).Check(t.Context(), n, twoColumns)
		if !errors.As(err, new(spool.Unfit)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %q", err, want)
		}
	}
}
