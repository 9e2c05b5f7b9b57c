package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	ownRate      = 200 // point queries per second of the source's own users
	ownWorkers   = 32  // connections that they have
	ownAlone     = 5 * time.Second
	heavyReports = 10
	whatOwn      = "200 point queries per second on a database"
	whatReports  = "ten reports that read all of it, together"
	nobodyElse   = "nobody else"
	unprotected  = "beside ten reports"
	guarded      = "beside ten reports, with protect"
)

// heavyQuery reads all rows of both tables.
const heavyQuery = "SELECT a.city, b.status, COUNT(*) AS n, SUM(b.amount) AS amount FROM big.a a " +
	"JOIN big.b b ON b.user_id = a.user_id GROUP BY a.city, b.status"

// protects measures how late the queries of a database's own users are beside ten reports that read all of it, with and
// without protect.
func protects(ctx context.Context, o options, dir string, r *results) error {
	j, err := startJoin(ctx, dir, o.rows)
	if err != nil {
		return err
	}
	defer j.stop()
	ways := []struct {
		system, folder string
		settings       map[string]any // of the database
	}{
		{unprotected, "without", nil},
		{guarded, "with", map[string]any{"protect": map[string]any{"threads_running": 2}}},
	}
	for range o.rounds {
		late, err := ownQueries(ctx, j, o.rows, func(ctx context.Context) error {
			select {
			case <-ctx.Done():
			case <-time.After(ownAlone):
			}
			return nil
		})
		if err != nil {
			return err
		}
		addOwn(r, nobodyElse, late)
		for _, way := range ways {
			p, err := heavy(ctx, j, mkdir(dir, way.folder), way.settings)
			if err != nil {
				return err
			}
			if err := besideReports(ctx, j, p, o.rows, way.system, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// heavy makes the configuration of the reports, whose database has these settings.
func heavy(ctx context.Context, j *joiner, dir string, settings map[string]any) (product, error) {
	database := map[string]any{"dsn": j.mariadb.DSN("big")}
	maps.Copy(database, settings)
	return newProduct(ctx, j.program, dir, j.redis, j.mariadb, "big", map[string]any{
		"databases": map[string]any{"big": database},
		"reports": map[string]any{"heavy": map[string]any{
			"timeout":   "1h",
			"listeners": map[string]any{"all": map[string]any{"database": "big", "query": heavyQuery, "timeout": "30m"}},
		}},
	})
}

// besideReports measures the own queries while ten reports run, which are pushed together.
func besideReports(ctx context.Context, j *joiner, p product, rows int, system string, r *results) (err error) {
	serve, err := p.serve(ctx)
	if err != nil {
		return err
	}
	defer func() {
		_, stopped := serve.stop()
		err = errors.Join(err, stopped)
	}()
	late, err := ownQueries(ctx, j, rows, func(ctx context.Context) error {
		ids, began := make([]string, heavyReports), time.Now()
		for i := range ids {
			done, err := j.db.ExecContext(ctx, "INSERT INTO big.file_download_record (report) VALUES ('heavy')")
			if err != nil {
				return err
			}
			id, err := done.LastInsertId()
			if err != nil {
				return err
			}
			ids[i] = fmt.Sprint(id)
		}
		if err := p.do(ctx, append([]string{"submit", "--wait"}, ids...)...); err != nil {
			return err
		}
		r.add(whatReports, system, "s", time.Since(began).Seconds())
		return nil
	})
	if err == nil {
		addOwn(r, system, late)
	}
	return err
}

// addOwn adds how late the own queries were.
func addOwn(r *results, system string, late []time.Duration) {
	slices.Sort(late)
	r.add(whatOwn+", median", system, "ms", late[len(late)/2].Seconds()*1000)
	r.add(whatOwn+", p99", system, "ms", late[len(late)*99/100].Seconds()*1000)
	r.add(whatOwn+", longest", system, "ms", late[len(late)-1].Seconds()*1000)
}

// ownQueries sends point queries at an even rate until work is done, and returns how long after its time each was
// answered: one that waits for a connection is late, too.
func ownQueries(ctx context.Context, j *joiner, rows int, work func(context.Context) error) ([]time.Duration, error) {
	users, err := j.mariadb.Open("big")
	if err != nil {
		return nil, err
	}
	defer users.Close()
	users.SetMaxOpenConns(ownWorkers)
	users.SetMaxIdleConns(ownWorkers)
	statement, err := users.PrepareContext(ctx, "SELECT name, tag, score FROM a WHERE user_id = ?")
	if err != nil {
		return nil, err
	}
	defer statement.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	worked := make(chan error, 1)
	go func() { worked <- work(ctx) }()
	var mu sync.Mutex
	var late []time.Duration
	var all sync.WaitGroup
	tick := time.NewTicker(time.Second / ownRate)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case err := <-worked:
			all.Wait()
			return late, errors.Join(err, failure(ctx))
		case due := <-tick.C:
			id := 1 + n*7919%rows
			all.Go(func() {
				var name, tag string
				var score sql.NullInt64
				if err := statement.QueryRowContext(ctx, id).Scan(&name, &tag, &score); err != nil {
					cancel(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				late = append(late, time.Since(due))
			})
		}
	}
}

// failure is why a context was cancelled; nil: it was not.
func failure(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}

// protectTargets: the queries of a database's own users wait less beside reports if it is protected.
func protectTargets() (all []target) {
	for _, of := range []string{", p99", ", longest"} {
		what := "200 point queries/s of others on a database with ten reports: wait" + of
		all = append(all, target{what, "without protect", "", "<= 1", over(whatOwn+of, guarded, whatOwn+of, unprotected)})
	}
	took := "ten reports on a database with 200 point queries/s: time, with protect"
	return append(all, target{took, "without protect", "", "", over(whatReports, guarded, whatReports, unprotected)})
}
