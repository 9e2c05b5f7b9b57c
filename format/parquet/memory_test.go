package parquet

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// wide returns columns of several types, and the cells of their rows.
func wide(width int) (columns []dataset.Column, cell func(row, column int) []byte) {
	for i := range width {
		c := dataset.Column{Name: fmt.Sprint("c", i)}
		switch i % 5 {
		case 0:
			c.Kind = report.KindInteger
		case 1, 4:
			c.Kind = report.KindText
		case 2:
			c.Kind, c.Digits, c.Scale = report.KindDecimal, 12, 2
		case 3:
			c.Kind = report.KindDatetime
		}
		columns = append(columns, c)
	}
	return columns, func(row, i int) []byte {
		switch i % 5 {
		case 0:
			return fmt.Append(nil, row*7919%1_000_003)
		case 2:
			return fmt.Appendf(nil, `"%d.%02d"`, row%100_000, i%100)
		case 3:
			return fmt.Appendf(nil, `"2024-01-%02d 10:%02d:00"`, row%28+1, i%60)
		}
		return fmt.Appendf(nil, `"text %d of %d"`, row*31%50_021, i)
	}
}

// random returns a text that no compression makes much shorter.
func random(row, column int) []byte {
	cell, n := []byte{'"'}, rand.NewPCG(uint64(row), uint64(column))
	for range 10 {
		cell = strconv.AppendUint(cell, n.Uint64(), 36)
	}
	return append(cell, '"')
}

// TestMemory: what a file takes is bounded, whatever its rows are: 48 MB, and 40 KB for every column.
func TestMemory(t *testing.T) { // not in parallel: it measures the heap
	for _, width := range []int{20, 1500} {
		columns, cell := wide(width)
		live := func() uint64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before, most := live(), uint64(0)
		file := begin(t, columns, "", io.Discard)
		rows := 1_200_000 / width
		cells := make([][]byte, width)
		for row := range rows {
			for i := range cells {
				switch cells[i] = cell(row, i); {
				case (row+i)%10 == 0:
					cells[i] = nil
				case columns[i].Kind == report.KindText:
					cells[i] = random(row, i)
				}
			}
			line, err := file.AppendRow(file.Buffer(), cells)
			if err == nil {
				_, err = file.WriteRows(line, []int{len(line)})
			}
			if err != nil {
				t.Fatal(err)
			}
			if row%(rows/20) == 0 {
				most = max(most, live())
			}
		}
		if _, err := file.Close(); err != nil {
			t.Fatal(err)
		}
		if limit := uint64(48<<20 + width*40<<10); most > before+limit {
			t.Errorf("%d columns take %d MB, want at most %d", width, (most-before)>>20, limit>>20)
		} else {
			t.Logf("%d columns take %d of %d MB", width, (most-before)>>20, limit>>20)
		}
	}
}

func BenchmarkFile(b *testing.B) {
	columns, cell := wide(20)
	const rows = 10_000
	var cells [rows][][]byte
	for row := range cells {
		for i := range columns {
			cells[row] = append(cells[row], cell(row, i))
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		file := begin(b, columns, "", io.Discard)
		for range 20 {
			var buffer []byte
			var ends []int
			var err error
			for _, row := range cells {
				if buffer, err = file.AppendRow(buffer, row); err != nil {
					b.Fatal(err)
				}
				ends = append(ends, len(buffer))
			}
			if _, err := file.WriteRows(buffer, ends); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := file.Close(); err != nil {
			b.Fatal(err)
		}
		runtime.GC()
	}
}
