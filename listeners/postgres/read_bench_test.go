package postgres

import (
	"testing"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/listeners"
)

const benchmarkRows = 100_000

// BenchmarkRead is of rows of an id, a number, a decimal, two texts, a null and a
// time, from the query to chunks that nobody stores.
func BenchmarkRead(b *testing.B) {
	source := setup(b, `CREATE TABLE t (id bigint PRIMARY KEY, score int, amount numeric(18,2), name varchar(40), city varchar(30), gone int, created_at timestamp)`,
		`INSERT INTO t SELECT n, n % 1000, n % 100000 / 100.0, 'name ' || n, (ARRAY['Berlin', 'Lagos', 'Osaka', 'Lima'])[1 + n % 4], NULL, '2024-01-01'::timestamp + n * interval '1 minute' FROM generate_series(1, 100000) n`)
	read := task(b, "SELECT id, score, amount, name, city, gone, created_at FROM t", "id score amount name city gone created_at")
	b.ReportAllocs()
	for b.Loop() {
		rows := 0
		out := listeners.NewWriter(func(_ []dataset.Column, builder *dataset.Builder, _ bool) error {
			rows += builder.Rows()
			return nil
		})
		if err := source.source.Read(b.Context(), read, out); err != nil {
			b.Fatal(err)
		}
		if err := out.Close(); err != nil || rows != benchmarkRows {
			b.Fatal(rows, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchmarkRows, "ns/row")
}
