package fanin

import (
	"testing"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/sink/dir"
)

// BenchmarkFile measures the file of a job with two datasets of 100 numbers, up to
// its commit.
func BenchmarkFile(b *testing.B) {
	s, client := newScripts(b)
	config, err := config.Load("bench.yaml", []byte(`
redis: redis://127.0.0.1/0
databases: {db: {dsn: "u@tcp(127.0.0.1:1)/x"}}
records: {database: db}
sink: file:///nowhere
reports:
  r:
    listeners: {a: {database: db, query: "SELECT k FROM t"}, b: {database: db, query: "SELECT k FROM t"}}
    join: {key: k}
`), decode.Environment{}, kinds.Standard().Config())
	if err != nil {
		b.Fatal(err)
	}
	r := config.Reports["r"]
	place, err := dir.New(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer place.Close()
	e := newFanIn(b, engine.Options{Redis: client, Scripts: s, Records: noRecords{}, Consumer: "c", Reports: config.Reports}, place)
	start(b, s, "1", r.Hash(), time.Hour, "a", "b")
	for _, l := range []string{"a", "b"} {
		columns := []dataset.Column{{Name: "k", Kind: report.KindInteger}}
		builder := dataset.NewBuilder(columns)
		for i := range int64(100) {
			builder.Int(0, i)
			if err := builder.EndRow(); err != nil {
				b.Fatal(err)
			}
		}
		completeWith(b, s, "1", l, scripts.Chunk{Rows: 100, Columns: columns, Names: []string{"k"}, Fields: builder.Fields()})
	}
	f := claim(b, s, "1", scripts.Claim{Worker: "w", Known: []string{r.Hash()}})
	b.ReportAllocs()
	for b.Loop() {
		m, err := e.make(b.Context(), &work{Fold: f, report: r}, e.files.Create)
		if err != nil || m.Rows != 100 {
			b.Fatal(m.Rows, err)
		}
		m.abort()
	}
}
