package main

import (
	"path/filepath"
	"testing"

	"github.com/fanfold/fanfold/fold"
)

// BenchmarkFolds runs the folds that are measured beside DuckDB.
func BenchmarkFolds(b *testing.B) {
	made := map[string]fold.Dataset{}
	for _, c := range foldCases {
		sets := map[string]fold.Dataset{}
		for _, name := range c.tables {
			if made[name] == nil {
				set, err := foldTables[name].dataset()
				if err != nil {
					b.Fatal(err)
				}
				made[name] = set
			}
			sets[name] = made[name]
		}
		b.Run(c.name, func(b *testing.B) {
			file := filepath.Join(b.TempDir(), "out")
			b.ReportAllocs()
			for b.Loop() {
				if err := foldToCSV(b.Context(), c, sets, file); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
