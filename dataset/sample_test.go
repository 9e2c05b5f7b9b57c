package dataset_test

import (
	"testing"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/dataset/datasettest"
)

func TestBuilderDoesNotAllocate(t *testing.T) {
	b := dataset.NewBuilder(datasettest.SampleColumns)
	fill := func() {
		for i := range 1000 {
			datasettest.SampleRow(b, i)
			if err := b.EndRow(); err != nil {
				t.Fatal(err)
			}
		}
		b.Fields()
		b.Reset()
	}
	fill()
	if n := testing.AllocsPerRun(5, fill); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestDecodeChunkAllocatesByColumn(t *testing.T) {
	b := dataset.NewBuilder(datasettest.SampleColumns)
	for i := range 5000 {
		datasettest.SampleRow(b, i)
		if err := b.EndRow(); err != nil {
			t.Fatal(err)
		}
	}
	fields := b.Fields()
	allocs := testing.AllocsPerRun(5, func() { datasettest.Decode(t, datasettest.SampleColumns, fields) })
	if allocs > 3 {
		t.Errorf("%v allocations for %d values", allocs, 5000*len(datasettest.SampleColumns))
	}
}

func BenchmarkCompressor(b *testing.B) {
	chunks, size := datasettest.SampleChunks(b, dataset.MaxChunkRows)
	b.SetBytes(size)
	b.ReportAllocs()
	var c dataset.Compressor
	stored := 0
	for b.Loop() {
		stored = 0
		for _, field := range c.Fields(chunks[0]) {
			stored += len(field)
		}
	}
	b.ReportMetric(float64(stored)/float64(size), "stored/JSON")
}

func BenchmarkDecodeCompressedChunk(b *testing.B) {
	chunks, size := datasettest.SampleChunks(b, dataset.MaxChunkRows)
	var c dataset.Compressor
	fields := c.Fields(chunks[0])
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := dataset.DecodeChunk(datasettest.SampleColumns, fields); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBuilder(b *testing.B) {
	builder := dataset.NewBuilder(datasettest.SampleColumns)
	b.ReportAllocs()
	for b.Loop() {
		builder.Reset()
		for i := 0; !builder.Full(); i++ {
			datasettest.SampleRow(builder, i)
			if err := builder.EndRow(); err != nil {
				b.Fatal(err)
			}
		}
	}
	size := 0
	for _, field := range builder.Fields() {
		size += len(field)
	}
	b.SetBytes(int64(size))
}

func BenchmarkDecodeChunk(b *testing.B) {
	chunks, _ := datasettest.SampleChunks(b, dataset.MaxChunkRows)
	size := 0
	for _, field := range chunks[0] {
		size += len(field)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := dataset.DecodeChunk(datasettest.SampleColumns, chunks[0]); err != nil {
			b.Fatal(err)
		}
	}
}
