package main

import (
	"context"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/record/mysql"
	"github.com/fanfold/fanfold/report"
)

// filledTable makes a record table with that many PENDING rows.
func filledTable(ctx context.Context, m *testenv.Database, round, jobs int) (*record.Store, []string, error) {
	schema := "bench" + strconv.Itoa(round)
	admin, err := m.Open("")
	if err != nil {
		return nil, nil, err
	}
	defer admin.Close()
	if _, err := admin.ExecContext(ctx, "CREATE DATABASE "+schema); err != nil {
		return nil, nil, err
	}
	db, err := mysql.Kind.Open(report.Database{DSN: report.Secret(m.DSN(schema))}, record.Options{MaxConnections: 10})
	if err != nil {
		return nil, nil, err
	}
	if _, err := record.Migrate(ctx, db, report.DefaultTable); err != nil {
		return nil, nil, err
	}
	if _, err := db.ExecContext(ctx, "INSERT INTO "+report.DefaultTable+" (id, report) SELECT seq, 'bench' FROM seq_1_to_"+strconv.Itoa(jobs)); err != nil {
		return nil, nil, err
	}
	store, err := record.New(db, report.Records{History: 30 * 24 * time.Hour})
	ids := make([]string, jobs)
	for i := range ids {
		ids[i] = strconv.Itoa(i + 1)
	}
	return store, ids, err
}
