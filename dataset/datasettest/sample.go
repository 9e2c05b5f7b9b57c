package datasettest

import (
	"strconv"

	"github.com/fanfold/fanfold/dataset"
)

// SampleColumns are the columns of SampleRow.
var SampleColumns = Columns("id", "integer", "amount", "decimal", "rate", "float", "name", "text",
	"day", "date", "at", "datetime", "note", "text")

// SampleRow gives a Builder the values of row i, but does not end the row.
func SampleRow(b *dataset.Builder, i int) {
	var memory [64]byte
	scratch := memory[:0]
	b.Int(0, int64(i))
	b.Text(1, append(strconv.AppendInt(scratch, int64(i*7), 10), ".25"...))
	b.Float(2, float64(i%1000)/8, 64)
	b.Text(3, strconv.AppendInt(append(scratch, "customer "...), int64(i%5000), 10))
	b.Text(4, append(scratch, "2024-02-29"...))
	b.Text(5, append(scratch, "2024-02-29 12:34:56"...))
	if i%3 == 0 {
		b.Null(6)
	} else {
		b.Text(6, append(scratch, `a "note", short`...))
	}
}

// SampleChunks encodes rows as Redis stores them. size is the bytes of all fields.
func SampleChunks(t TB, rows int) (chunks [][][]byte, size int64) {
	b := dataset.NewBuilder(SampleColumns)
	flush := func() {
		fields := copied(b.Fields())
		for _, field := range fields {
			size += int64(len(field))
		}
		chunks = append(chunks, fields)
		b.Reset()
	}
	for i := range rows {
		SampleRow(b, i)
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

// Sample returns a dataset of such chunks.
func Sample(chunks [][][]byte, rows int) *Memory {
	return &Memory{Of: SampleColumns, Fields: chunks, rows: int64(rows)}
}
