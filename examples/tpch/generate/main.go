// Command generate fills the tables of the TPC-H example:
//
//	go run ./examples/tpch/generate -sales DSN -catalog DSN -purchasing DSN -geography FOLDER -scale 0.1
package main

import (
	"context"
	"database/sql"
	"flag"
	"log"

	_ "github.com/go-sql-driver/mysql"

	"github.com/fanfold/fanfold/examples/tpch"
)

func main() {
	dsn := map[string]*string{}
	for _, place := range []string{"sales", "catalog", "purchasing"} {
		dsn[place] = flag.String(place, "", "DSN of the database "+place)
	}
	folder := flag.String("geography", ".", "folder for the files of the API")
	scale := flag.Float64("scale", 0.01, "size; 1 has 6 million items")
	seed := flag.Uint64("seed", 1, "another seed makes other rows")
	flag.Parse()
	databases := map[string]*sql.DB{}
	for place, name := range dsn {
		db, err := sql.Open("mysql", *name)
		if err != nil {
			log.Fatalf("-%s: %v", place, err)
		}
		databases[place] = db
	}
	if err := tpch.Load(context.Background(), databases, *folder, *scale, *seed); err != nil {
		log.Fatal(err)
	}
}
