package mysql

import (
	"testing"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/listeners"
)

const benchmarkRows = 100_000

// BenchmarkRead is of rows of an id, a number, a decimal, two texts, a null and a
// time, from the query to chunks that nobody stores.
func BenchmarkRead(b *testing.B) {
	source := setup(b)
	source.exec(b, `CREATE TABLE t (id BIGINT UNSIGNED PRIMARY KEY, score INT, amount DECIMAL(18,2), name VARCHAR(40), city VARCHAR(30), gone INT, created_at DATETIME)`,
		`INSERT INTO t SELECT seq, seq % 1000, seq % 100000 / 100, CONCAT('name ', seq), ELT(1 + seq % 4, 'Berlin', 'Lagos', 'Osaka', 'Lima'), NULL, '2024-01-01' + INTERVAL seq MINUTE FROM seq_1_to_100000`)
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
