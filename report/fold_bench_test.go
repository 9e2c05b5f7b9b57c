package report

import (
	"io"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

var benchmarkColumns = columnsOf("id", "integer", "amount", "decimal", "rate", "float", "name", "text",
	"day", "date", "at", "datetime", "note", "text")

var benchmarkScratch = make([]byte, 0, 64)

func benchmarkRow(b *Builder, i int) {
	b.Int(0, int64(i))
	b.Text(1, append(strconv.AppendInt(benchmarkScratch, int64(i*7), 10), ".25"...))
	b.Float(2, float64(i%1000)/8, 64)
	b.Text(3, strconv.AppendInt(append(benchmarkScratch, "customer "...), int64(i%5000), 10))
	b.Text(4, append(benchmarkScratch, "2024-02-29"...))
	b.Text(5, append(benchmarkScratch, "2024-02-29 12:34:56"...))
	if i%3 == 0 {
		b.Null(6)
	} else {
		b.Text(6, append(benchmarkScratch, `a "note", short`...))
	}
}

// stored is a Dataset of fields as Redis would give them: each chunk is decoded
// when it is asked for, from bytes of its own.
type stored struct {
	chunks [][][]byte
	next   int
}

func (s *stored) Columns() []Column { return benchmarkColumns }

func (s *stored) Next() (*Chunk, error) {
	if s.next == len(s.chunks) {
		return nil, io.EOF
	}
	fields := make([][]byte, len(benchmarkColumns))
	for i, field := range s.chunks[s.next] {
		fields[i] = append([]byte(nil), field...)
	}
	s.next++
	return DecodeChunk(benchmarkColumns, fields)
}

func storedRows(t testing.TB, rows int) (chunks [][][]byte, size int64) {
	b := NewBuilder(benchmarkColumns)
	flush := func() {
		var fields [][]byte
		for _, field := range b.Fields() {
			fields = append(fields, append([]byte(nil), field...))
		}
		size += int64(b.Bytes())
		chunks = append(chunks, fields)
		b.Reset()
	}
	for i := range rows {
		benchmarkRow(b, i)
		if err := b.EndRow(); err != nil {
			t.Fatal(err)
		}
		if b.Full() {
			flush()
		}
	}
	flush()
	return chunks, size
}

func benchmarkReport(kind JoinType) *Report {
	r := &Report{Join: Join{Keys: []string{"id"}, Listeners: []Joined{
		{Listener: "a", Keys: []string{"id"}}, {Listener: "b", Type: kind, Keys: []string{"id"}},
	}}}
	r.CSV.Columns = []CSVColumn{{Label: "id", Column: "id"}}
	for _, listener := range []string{"a", "b"} {
		for _, c := range benchmarkColumns[1:] {
			r.CSV.Columns = append(r.CSV.Columns, CSVColumn{listener + "." + c.Name, listener, c.Name})
		}
	}
	return r
}

func BenchmarkBuilder(b *testing.B) {
	builder := NewBuilder(benchmarkColumns)
	b.ReportAllocs()
	size := int64(0)
	for b.Loop() {
		builder.Reset()
		for i := 0; !builder.Full(); i++ {
			benchmarkRow(builder, i)
			if err := builder.EndRow(); err != nil {
				b.Fatal(err)
			}
		}
		size = int64(builder.Bytes())
	}
	b.SetBytes(size)
}

func BenchmarkDecodeChunk(b *testing.B) {
	chunks, _ := storedRows(b, MaxChunkRows)
	size := 0
	for _, field := range chunks[0] {
		size += len(field)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeChunk(benchmarkColumns, chunks[0]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFold(b *testing.B) {
	chunks, size := storedRows(b, 100_000)
	for _, kind := range []JoinType{Inner, Full} {
		b.Run(string(kind), func(b *testing.B) {
			r := benchmarkReport(kind)
			b.SetBytes(2 * size)
			b.ReportAllocs()
			for b.Loop() {
				made, err := r.Fold(map[string]Dataset{"a": &stored{chunks: chunks}, "b": &stored{chunks: chunks}}, io.Discard, Room{})
				if err != nil || made.Rows != 100_000 {
					b.Fatal(made.Rows, err)
				}
			}
		})
	}
}

// BenchmarkFoldSmall is a job like most: all of it is in one chunk.
func BenchmarkFoldSmall(b *testing.B) {
	chunks, _ := storedRows(b, 100)
	r := benchmarkReport(Inner)
	b.ReportAllocs()
	for b.Loop() {
		made, err := r.Fold(map[string]Dataset{"a": &stored{chunks: chunks}, "b": &stored{chunks: chunks}}, io.Discard, Room{})
		if err != nil || made.Rows != 100 {
			b.Fatal(made.Rows, err)
		}
	}
}

// BenchmarkFoldMillion also reports the most memory that was in use, over what
// the stored chunks take, and the JSON of one side.
func BenchmarkFoldMillion(b *testing.B) {
	chunks, size := storedRows(b, 1_000_000)
	r := benchmarkReport(Inner)
	runtime.GC()
	before := heapInUse()
	var most atomic.Uint64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				most.Store(max(most.Load(), heapInUse()))
			}
		}
	}()
	b.SetBytes(2 * size)
	b.ReportAllocs()
	for b.Loop() {
		made, err := r.Fold(map[string]Dataset{"a": &stored{chunks: chunks}, "b": &stored{chunks: chunks}}, io.Discard, Room{})
		if err != nil || made.Rows != 1_000_000 {
			b.Fatal(made.Rows, err)
		}
	}
	close(stop)
	<-stopped
	b.ReportMetric(float64(most.Load()-before)/1e6, "peak-MB")
	b.ReportMetric(float64(size)/1e6, "side-MB")
}

func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}
