package spool

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/fanfold/fanfold/dataset"
)

// Limits of a segment that another program has written. Its chunks are as large as a reply of rows may be, so fan-in
// needs no more memory for them.
const (
	maxHanded      = 64 << 20 // bytes of the object
	maxHandedJSON  = 1 << 30  // of all chunks
	maxHandedChunk = 1 << 20  // JSON of all columns
)

// Unfit is the error of a segment of another program that is whole, and is not what its columns or the limits say. The
// program would write the same again.
type Unfit struct {
	URL string // of the segment
	Why string
}

// Error implements error.
func (u Unfit) Error() string { return fmt.Sprintf("segment %s %s", u.URL, u.Why) }

// Handed returns the name of a segment that another program has written, from its URL. The name must be that of the
// task and number in of; its generation and writer are the program's choice. The error says which name is expected,
// with the writer in of (empty: any), and which part of it differs.
func (s *Spool) Handed(url string, of Name) (Name, error) {
	of.Tag = s.o.Tag
	object, inside := s.o.Sink.Name(url)
	n, ok := Parse(object)
	want := of
	want.Generation, want.Writer = n.Generation, n.Writer
	if inside && ok && n.String() == want.String() {
		return want, nil
	}
	differs := ""
	if inside && ok {
		differs = ": its " + n.differs(want) + " differs"
	}
	where := ""
	if of.Writer == "" {
		of.Writer, where = "WRITER", ", where WRITER is of letters and digits"
	}
	form := s.o.Sink.URL(of.String())
	return Name{}, fmt.Errorf("segment %.300q does not have the form %s%s%s", url, form, where, differs)
}

// differs returns which part of a name differs from another name.
func (n Name) differs(from Name) string {
	switch {
	case n.Report != from.Report:
		return "report"
	case n.ID != from.ID:
		return "id"
	case n.Attempt != from.Attempt:
		return "attempt"
	case n.Tag != from.Tag:
		return "tag"
	case n.Number != from.Number:
		return "number"
	}
	return "listener"
}

// Check reads a segment that another program has written, and checks every value of it against the columns, which the
// segment must have in this order. The error is Damaged if the segment is missing or no segment, or Unfit; other
// errors are those of the sink. It needs as much memory as the segment.
func (s *Spool) Check(ctx context.Context, n Name, columns []dataset.Column) (Segment, error) {
	url := s.o.Sink.URL(n.String())
	in, err := s.open(ctx, n.String(), "hand it in after it is written")
	if err != nil {
		return Segment{}, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxHanded+1))
	if err != nil {
		return Segment{}, fmt.Errorf("segment %s: %w", url, err)
	}
	if len(text) > maxHanded {
		return Segment{}, Unfit{url, fmt.Sprintf("has more than %d MB: write several", maxHanded>>20)}
	}
	f, err := parse(text)
	switch {
	case err != nil:
		return Segment{}, Damaged{url, "is damaged: " + err.Error()}
	case f.columns != len(columns):
		return Segment{}, Unfit{url, fmt.Sprintf("has %d columns, but its listener has %d", f.columns, len(columns))}
	case f.chunks == 0:
		return Segment{}, Unfit{url, "has no chunk"}
	}
	segment := Segment{Chunks: f.chunks, Bytes: int64(len(text)), CRC32C: crc32.Checksum(text, castagnoli)}
	size := 0
	for number := range f.chunks {
		if ctx.Err() != nil {
			return Segment{}, context.Cause(ctx)
		}
		fields, packed := make([][]byte, len(columns)), 0
		for i := range fields {
			fields[i] = f.frame(number, i)
			packed += len(fields[i])
		}
		if packed > 2*maxHandedChunk { // zstd makes nothing that long of a chunk
			return Segment{}, Unfit{url, fmt.Sprintf("does not fit: chunk %d has frames of %d bytes: at most %d bytes of JSON "+
				"are allowed", number+1, packed, maxHandedChunk)}
		}
		chunk, err := dataset.DecodeChunk(columns, fields)
		switch {
		case errors.Is(err, dataset.ErrUneven):
			return Segment{}, Unfit{url, fmt.Sprintf("does not fit: chunk %d: %s", number+1, err)}
		case err != nil:
			return Segment{}, Damaged{url, fmt.Sprintf("is damaged: chunk %d: %s", number+1, err)}
		}
		switch size += chunk.Bytes(); {
		case chunk.Rows() > dataset.MaxChunkRows || chunk.Bytes() > maxHandedChunk:
			err = fmt.Errorf("%d rows and %d bytes of JSON: at most %d and %d are allowed", chunk.Rows(), chunk.Bytes(),
				dataset.MaxChunkRows, maxHandedChunk)
		case size > maxHandedJSON:
			err = fmt.Errorf("the chunks so far have more than %d MB of JSON: write several segments", maxHandedJSON>>20)
		default:
			err = chunk.CheckTypes()
		}
		if err != nil {
			return Segment{}, Unfit{url, fmt.Sprintf("does not fit: chunk %d: %s", number+1, err)}
		}
		segment.Rows += int64(chunk.Rows())
	}
	return segment, nil
}
