package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// minCompressed is the minimum length of a field that is compressed: the name of a
	// shorter one takes as many bytes.
	minCompressed = 256
	// MaxExpandedBytes is the maximum total size of the compressed fields of a chunk after
	// decompression. A larger chunk, which a long row can cause, is not compressed.
	MaxExpandedBytes = 16 << 20
)

// zstdMagic is the start of a zstd frame (RFC 8878, section 3.1.1). No JSON begins with it.
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// Compressor compresses the fields of chunks. Its zero value is ready to use; it is used by one
// goroutine and keeps its buffers.
type Compressor struct {
	fields, frames [][]byte
}

// Fields returns the fields of a chunk. A field that zstd makes shorter becomes one frame with the
// length and the checksum of its text; DecodeChunk reads both forms. The result is valid until the
// next call, and as long as the fields are.
func (c *Compressor) Fields(fields [][]byte) [][]byte {
	size := 0
	for _, field := range fields {
		size += len(field)
	}
	if size > MaxExpandedBytes {
		return fields
	}
	c.fields = append(c.fields[:0], fields...)
	for len(c.frames) < len(fields) {
		c.frames = append(c.frames, nil)
	}
	for i, field := range fields {
		if len(field) < minCompressed {
			continue
		}
		c.frames[i] = encoder().EncodeAll(field, c.frames[i][:0])
		if len(c.frames[i]) < len(field) {
			c.fields[i] = c.frames[i]
		}
	}
	return c.fields
}

// AppendFrame appends a field as one frame, however long it is. DecodeChunk reads it if all fields of the chunk have at
// most MaxExpandedBytes.
func AppendFrame(dst, field []byte) []byte { return encoder().EncodeAll(field, dst) }

// The fastest level costs about the time that Redis saves with less data. Digits without
// repetitions are entropy-coded, too. A window of the size of a chunk keeps the buffers small.
var encoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithAllLitEntropyCompression(true),
		zstd.WithWindowSize(MaxChunkBytes))
	if err != nil {
		panic(err) // the options are wrong
	}
	return e
})

var decoder = sync.OnceValue(func() *zstd.Decoder {
	d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(MaxExpandedBytes),
		zstd.WithDecoderConcurrency(runtime.GOMAXPROCS(0)))
	if err != nil {
		panic(err) // the options are wrong
	}
	return d
})

// decompressed returns the JSON of the fields of a chunk; it returns fields if none is compressed.
// No field is decompressed beyond MaxExpandedBytes.
func decompressed(columns []Column, fields [][]byte) ([][]byte, error) {
	texts, size := fields, 0
	for i, field := range fields {
		if !bytes.HasPrefix(field, zstdMagic) {
			continue
		}
		text, err := decoder().DecodeAll(field, nil)
		if size += len(text); size > MaxExpandedBytes || errors.Is(err, zstd.ErrDecoderSizeExceeded) {
			return nil, fmt.Errorf("column %q: the zstd frames of one chunk decompress to more than %d MB",
				columns[i].Name, MaxExpandedBytes>>20)
		}
		if err != nil {
			return nil, fmt.Errorf("column %q: cannot decompress the zstd frame: %w", columns[i].Name, err)
		}
		if &texts[0] == &fields[0] {
			texts = slices.Clone(fields)
		}
		texts[i] = text
	}
	return texts, nil
}
