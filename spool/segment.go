package spool

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/fanfold/fanfold/dataset"
)

// The index of a segment is a skippable frame (RFC 8878, section 3.1.2): skippable, the length of the rest, magic, the
// number of columns, the number of chunks, the lengths of all frames by chunk and column, and its own length from
// magic on. Numbers have 32 bits, the least significant byte first.
const (
	skippable = 0x184d2a50
	magic     = "FANFOLD1"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// segment is a segment in memory that is being made.
type segment struct {
	plain   bool     // it is not compressed
	text    []byte   // frames
	lengths []uint32 // of them
	columns int
	rows    int64
}

// add adds a chunk. All chunks of a segment have as many fields.
func (s *segment) add(rows int64, fields [][]byte) {
	s.columns, s.rows = len(fields), s.rows+rows
	size := 0
	for _, field := range fields {
		size += len(field)
	}
	for _, field := range fields {
		from := len(s.text)
		if s.plain || size > dataset.MaxExpandedBytes { // DecodeChunk expands no more
			s.text = append(s.text, field...)
		} else {
			s.text = dataset.AppendFrame(s.text, field)
		}
		s.lengths = append(s.lengths, uint32(len(s.text)-from))
	}
}

// end adds the index, and returns what a ticket says of the segment.
func (s *segment) end() Segment {
	chunks := len(s.lengths) / max(1, s.columns)
	size := len(magic) + 4 + 4 + 4*len(s.lengths) + 4
	put := func(n int) { s.text = binary.LittleEndian.AppendUint32(s.text, uint32(n)) }
	put(skippable)
	put(size)
	s.text = append(s.text, magic...)
	put(s.columns)
	put(chunks)
	for _, n := range s.lengths {
		put(int(n))
	}
	put(size)
	return Segment{int64(chunks), s.rows, int64(len(s.text)), crc32.Checksum(s.text, castagnoli)}
}

func (s *segment) reset() { *s = segment{plain: s.plain, text: s.text[:0], lengths: s.lengths[:0]} }

// frames are the frames of a segment that was read.
type frames struct {
	text    []byte
	starts  []uint32 // of all frames, and the end of the last one
	columns int
	chunks  int64
}

// parse reads the index of a segment, which another program may have written. The error says which field is wrong.
func parse(text []byte) (frames, error) {
	number := func(at int) int { return int(binary.LittleEndian.Uint32(text[at:])) }
	fixed := len(magic) + 12
	if len(text) < 8+fixed || len(text) > math.MaxUint32 {
		return frames{}, fmt.Errorf("it has %d bytes: with an index it has at least %d", len(text), 8+fixed)
	}
	size := number(len(text) - 4)
	begin := len(text) - size // of magic
	if size < fixed || begin < 8 {
		return frames{}, fmt.Errorf("it has no index at its end: its last 4 bytes say that the index has %d bytes, "+
			"not %d to %d", size, fixed, len(text)-8)
	}
	if n := number(begin - 8); n != skippable {
		return frames{}, fmt.Errorf("the frame of its index of %d bytes begins with 0x%08X, not 0x%X", size, n, skippable)
	}
	if n := number(begin - 4); n != size {
		return frames{}, fmt.Errorf("its index has %d bytes as its last 4 bytes say, but %d as its frame says", size, n)
	}
	if got := text[begin : begin+len(magic)]; string(got) != magic {
		return frames{}, fmt.Errorf("its index begins with %q, not %q", got, magic)
	}
	at := begin + len(magic)
	f := frames{text: text, columns: number(at), chunks: int64(number(at + 4))}
	lengths := size - fixed
	if want := uint64(f.columns) * uint64(f.chunks); lengths%4 != 0 || want != uint64(lengths/4) {
		return frames{}, fmt.Errorf("its index says %d columns × %d chunks = %d frames, but has %d bytes of lengths, "+
			"which are 4 for each frame", f.columns, f.chunks, want, lengths)
	}
	f.starts = make([]uint32, 1, lengths/4+1)
	var end int64 // does not overflow, so no start is behind it
	for at += 8; at < len(text)-4; at += 4 {
		end += int64(number(at))
		f.starts = append(f.starts, uint32(end))
	}
	if end != int64(begin-8) {
		return frames{}, fmt.Errorf("its index says that its frames have %d bytes, but there are %d before it", end, begin-8)
	}
	return f, nil
}

// frame returns a column of a chunk.
func (f frames) frame(chunk int64, column int) []byte {
	i := int(chunk)*f.columns + column
	return f.text[f.starts[i]:f.starts[i+1]:f.starts[i+1]]
}
