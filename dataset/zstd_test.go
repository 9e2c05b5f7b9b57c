package dataset

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// frame returns a zstd frame as another program may write it.
func frame(t testing.TB, text []byte, options ...zstd.EOption) []byte {
	t.Helper()
	e, err := zstd.NewWriter(nil, options...)
	if err != nil {
		t.Fatal(err)
	}
	return e.EncodeAll(text, nil)
}

// streamed returns a zstd frame without the length of its text.
func streamed(t testing.TB, text []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	e, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	// In pieces, as a short text in one piece gets its length.
	for piece := range slices.Chunk(text, 1<<20) {
		if _, err := e.Write(piece); err != nil {
			t.Fatal(err)
		}
		if err := e.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// array returns a JSON array of one text of this many bytes.
func array(bytes int) []byte {
	return []byte(`["` + strings.Repeat("x", bytes-len(`[""]`)) + `"]`)
}

// TestCompressorSaysTheSame checks that a chunk decompresses to the same text, even if only some of
// its fields are compressed, and if the buffers are reused.
func TestCompressorSaysTheSame(t *testing.T) {
	t.Parallel()
	columns := columnsOf("a", "integer", "b", "text", "c", "text")
	b := NewBuilder(columns)
	var c Compressor
	for _, rows := range []int{0, 1, 3000, 50, 10_000} {
		b.Reset()
		for i := range rows {
			b.Int(0, int64(i))
			b.Text(1, []byte(`a "text" with ümlauts`))
			b.Null(2)
			if err := b.EndRow(); err != nil {
				t.Fatal(err)
			}
		}
		fields := b.Fields()
		stored := c.Fields(fields)
		chunk, err := DecodeChunk(columns, stored)
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Rows() != rows {
			t.Errorf("%d rows became %d", rows, chunk.Rows())
		}
		for i, field := range fields {
			if !bytes.Equal(chunk.texts[i], field) {
				t.Errorf("%d rows, column %d: another text", rows, i)
			}
			if compressed := bytes.HasPrefix(stored[i], zstdMagic); compressed != (len(field) >= minCompressed) {
				t.Errorf("%d rows, column %d of %d bytes: compressed is %t", rows, i, len(field), compressed)
			}
			if len(stored[i]) > len(field) {
				t.Errorf("%d rows, column %d: %d bytes became %d", rows, i, len(field), len(stored[i]))
			}
		}
	}
}

func TestCompressorLeavesWhatGetsNoShorter(t *testing.T) {
	t.Parallel()
	random := rand.NewChaCha8([32]byte{})
	noise := make([]byte, 1000)
	_, _ = random.Read(noise)
	var c Compressor
	for _, field := range [][]byte{[]byte("[]"), array(minCompressed - 1), noise} {
		if got := c.Fields([][]byte{field}); !bytes.Equal(got[0], field) {
			t.Errorf("%d bytes were changed", len(field))
		}
	}
	large := [][]byte{array(minCompressed), array(MaxExpandedBytes)}
	for i, field := range c.Fields(large) {
		if !bytes.Equal(field, large[i]) {
			t.Errorf("field %d of a chunk that no reader takes as frames was compressed", i)
		}
	}
}

func TestForeignFrames(t *testing.T) {
	t.Parallel()
	text := array(MaxExpandedBytes - 100)
	for name, field := range map[string][]byte{
		"best level":      frame(t, text, zstd.WithEncoderLevel(zstd.SpeedBetterCompression)),
		"no checksum":     frame(t, text, zstd.WithEncoderCRC(false)),
		"without length":  streamed(t, text),
		"a wide window":   frame(t, text, zstd.WithWindowSize(8*MaxExpandedBytes), zstd.WithSingleSegment(false)),
		"several frames":  append(frame(t, text[:5000]), frame(t, text[5000:])...),
		"no JSON is less": text,
	} {
		chunk, err := DecodeChunk(columnsOf("a", "text"), [][]byte{field})
		if err != nil || chunk.Rows() != 1 || !bytes.Equal(chunk.texts[0], text) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFramesThatAreRefused(t *testing.T) {
	t.Parallel()
	const tooLarge = `column "b": the zstd frames of one chunk decompress to more than 16 MB`
	const broken = `column "b": cannot decompress the zstd frame: `
	whole := frame(t, array(5000))
	changed := bytes.Clone(whole)
	changed[len(changed)/2] ^= 0x40
	half := frame(t, array(MaxExpandedBytes/2+1))
	for name, test := range map[string]struct {
		a, b []byte
		want string
	}{
		"cut":                   {[]byte("[1]"), whole[:len(whole)-1], broken},
		"only the magic":        {[]byte("[1]"), zstdMagic, broken},
		"changed":               {[]byte("[1]"), changed, broken},
		"something behind it":   {[]byte("[1]"), append(bytes.Clone(whole), '\n'), broken},
		"a bomb":                {[]byte("[1]"), frame(t, array(MaxExpandedBytes+1)), tooLarge},
		"a bomb without length": {[]byte("[1]"), streamed(t, array(2*MaxExpandedBytes)), tooLarge},
		"a bomb of frames":      {[]byte("[1]"), bytes.Repeat(half, 50), tooLarge},
		"together":              {half, half, tooLarge},
		"no JSON in it":         {[]byte("[1]"), frame(t, []byte(strings.Repeat("x", 5000))), `column "b", byte 0: expected a JSON array`},
		"a frame in a frame":    {[]byte("[1]"), frame(t, whole), `column "b", byte 1: the text is not UTF-8`},
	} {
		_, err := DecodeChunk(columnsOf("a", "integer", "b", "text"), [][]byte{test.a, test.b})
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

// TestBombsTakeNoMemory checks that a frame that is too large is refused before it is decompressed.
func TestBombsTakeNoMemory(t *testing.T) {
	for name, bomb := range map[string][]byte{
		"with length": frame(t, array(8*MaxExpandedBytes)), "without length": streamed(t, array(8*MaxExpandedBytes)),
	} {
		_, _ = DecodeChunk(columnsOf("a", "text"), [][]byte{frame(t, array(1000))}) // the decoder is there
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := DecodeChunk(columnsOf("a", "text"), [][]byte{bomb}); err == nil {
			t.Fatalf("%s: taken", name)
		}
		runtime.ReadMemStats(&after)
		// All of it, in buffers that grow by a quarter.
		if took, limit := after.TotalAlloc-before.TotalAlloc, uint64(8*MaxExpandedBytes); took > limit {
			t.Errorf("%s: %d bytes were allocated, more than %d", name, took, limit)
		}
	}
}
