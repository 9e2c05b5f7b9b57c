package query_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/fold/op"
	"github.com/fanfold/fanfold/fold/parse"
	queries "github.com/fanfold/fanfold/fold/query"
	"github.com/fanfold/fanfold/report"
)

// counting counts rows.
type counting struct{ rows int }

func (c *counting) Add(op.Row) error { c.rows++; return nil }
func (c *counting) End() error       { return nil }

// numbers returns a dataset of rows with a key, a group, a price and a text.
func numbers(rows int) *memory {
	columns := []dataset.Column{
		{Name: "id", Kind: report.KindInteger}, {Name: "k", Kind: report.KindInteger}, {Name: "g", Kind: report.KindInteger},
		{Name: "x", Kind: report.KindDecimal, Digits: 12, Scale: 2}, {Name: "v", Kind: report.KindText},
	}
	m := &memory{columns: columns}
	b := dataset.NewBuilder(columns)
	flush := func() {
		var chunk [][]byte
		for _, field := range b.Fields() {
			chunk = append(chunk, append([]byte(nil), field...))
		}
		m.chunks = append(m.chunks, chunk)
		b.Reset()
	}
	for i := range rows {
		b.Int(0, int64(i))
		b.Int(1, int64(i*7919%rows))
		b.Int(2, int64(i*31%10_000))
		b.Text(3, fmt.Appendf(nil, "%d.%02d", i%1000, i%100))
		b.Text(4, fmt.Appendf(nil, "text %d", i*65537%rows))
		_ = b.EndRow()
		if b.Full() {
			flush()
		}
	}
	flush()
	return m
}

// BenchmarkSelect runs queries over 200,000 rows.
func BenchmarkSelect(b *testing.B) {
	const rows = 200_000
	sets := map[string]queries.Dataset{"a": numbers(rows), "b": numbers(rows)}
	for name, text := range map[string]string{
		"join":  "SELECT a.id, a.v, b.x FROM a JOIN b ON b.k = a.id",
		"group": "SELECT g, COUNT(*) AS n, SUM(x) AS s FROM a GROUP BY g",
		"order": "SELECT id, v, x FROM a ORDER BY x DESC, v",
		"where": "SELECT id, x * 2 AS y FROM a WHERE x > 500 AND v LIKE '%7%'",
	} {
		for budget, size := range map[string]int64{"": 0, "/8MB": 8 << 20} {
			b.Run(name+budget, func(b *testing.B) {
				for range b.N {
					q, err := parse.Parse(text)
					if err != nil {
						b.Fatal(err)
					}
					plan, err := queries.New(q, sets, nil)
					if err != nil {
						b.Fatal(err)
					}
					m := op.NewMemory(b.Context(), size, func() (op.Scratch, error) { return os.CreateTemp(b.TempDir(), "") })
					c := &counting{}
					if _, err := plan.Run(m, c); err != nil || c.rows == 0 {
						b.Fatal(c.rows, err)
					}
					m.Close()
				}
			})
		}
	}
}
