package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

const (
	smallJobs    = 200
	whatTogether = "200 small jobs, from push to finished"
	whatBeside   = "join of 2 × 1000000 rows beside small jobs, whole job to file"
	smallAlone   = "alone"
	smallBeside  = "beside a join of 2 × 1000000 rows"
)

// smallReports are the reports of the small jobs: their listeners and database are those of the join, or their own.
var smallReports = []struct{ name, about string }{
	{"own", "listeners of their own"},
	{"same", "its listeners"},
}

// together measures how late small jobs are while the process has a large one.
func together(ctx context.Context, o options, dir string, r *results) error {
	j, err := startJoin(ctx, dir, o.rows)
	if err != nil {
		return err
	}
	defer j.stop()
	b := beside{j}
	p, err := b.product(ctx, dir)
	if err != nil {
		return err
	}
	for range o.rounds {
		if err := b.measure(ctx, p, r); err != nil {
			return err
		}
	}
	return nil
}

// beside has the two large tables, and jobs beside their join.
type beside struct{ *joiner }

// product makes the configuration.
func (b beside) product(ctx context.Context, dir string) (product, error) {
	settings := joinSettings(map[string]any{
		"spool": "file://" + filepath.Join(dir, "spool"),
		"databases": map[string]any{
			"big": map[string]any{"dsn": b.mariadb.DSN("big")}, "few": map[string]any{"dsn": b.mariadb.DSN("big")},
		},
	})
	reports := settings["reports"].(map[string]any)
	reports["same"] = smallReport("big", "big")
	reports["own"] = smallReport("few", "few")
	return newProduct(ctx, b.program, dir, b.redis, b.mariadb, "big", settings)
}

// smallReport is the join's report, for 100 rows.
func smallReport(listener, database string) map[string]any {
	a, b := listener+".a", listener+".b"
	const few = " WHERE user_id BETWEEN 1 AND 100"
	return map[string]any{
		"listeners": map[string]any{
			a: map[string]any{"database": database, "query": selectA + few},
			b: map[string]any{"database": database, "query": selectB + few},
		},
		"join": map[string]any{"key": "user_id", "listeners": []string{a, b}},
		"file": map[string]any{"columns": []any{"user_id", "name", "tag", "id", "amount", "fee", "status", "note"}},
	}
}

// measure measures the small jobs of every report, alone and beside the join, in one process.
func (b beside) measure(ctx context.Context, p product, r *results) (err error) {
	serve, err := p.serve(ctx)
	if err != nil {
		return err
	}
	defer func() {
		_, stopped := serve.stop()
		err = errors.Join(err, stopped)
	}()
	spread, err := b.large(ctx, p) // the process has done everything once
	if err != nil {
		return err
	}
	r.add(whatBeside, smallAlone, "s", spread.Seconds())
	for _, small := range smallReports {
		if _, err := b.small(ctx, small.name, spread/8); err != nil {
			return err
		}
		late, err := b.small(ctx, small.name, spread)
		if err != nil {
			return err
		}
		r.quantiles(whatTogether, smallAlone+", "+small.about, late)
		var took time.Duration
		done := make(chan error, 1)
		go func() {
			var err error
			took, err = b.large(ctx, p)
			done <- err
		}()
		late, err = b.small(ctx, small.name, spread)
		if err := errors.Join(err, <-done); err != nil {
			return err
		}
		r.quantiles(whatTogether, smallBeside+", "+small.about, late)
		r.add(whatBeside, small.about, "s", took.Seconds())
	}
	return nil
}

// large runs the join.
func (b beside) large(ctx context.Context, p product) (took time.Duration, err error) {
	id, err := b.insert(ctx)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	err = p.do(ctx, "submit", "--wait", id)
	return time.Since(start), errors.Join(err, b.found(ctx, id))
}

// small pushes small jobs, evenly over a time, and returns how long each took until it was finished.
func (b beside) small(ctx context.Context, name string, spread time.Duration) (late []time.Duration, err error) {
	ids, err := b.records(ctx, name)
	if err != nil {
		return nil, err
	}
	client := b.redis.Client()
	defer client.Close()
	keys := scripts.NewKeys(report.DefaultKeys)
	last, err := client.XRevRangeN(ctx, keys.Events, "+", "-", 1).Result()
	if err != nil {
		return nil, err
	}
	from := "0"
	if len(last) > 0 {
		from = last[0].ID
	}
	ctx, cancel := context.WithTimeoutCause(ctx, workTimeout, errors.New("it is stuck"))
	defer cancel()
	finished := make(chan error, 1)
	ended := make(map[string]time.Time, len(ids))
	go func() { finished <- ends(ctx, b.redis.Client(), keys.Events, from, ids, ended) }()
	pushed := make([]time.Time, len(ids))
	begin := time.Now()
	for i, id := range ids {
		if err := wait(ctx, time.Until(begin.Add(spread*time.Duration(i)/smallJobs))); err != nil {
			return nil, err
		}
		pushed[i] = time.Now()
		if err := client.XAdd(ctx, &redis.XAddArgs{Stream: keys.Jobs, Values: []any{"id", id}}).Err(); err != nil {
			return nil, err
		}
	}
	if err := <-finished; err != nil {
		return nil, err
	}
	for i, id := range ids {
		late = append(late, ended[id].Sub(pushed[i]))
	}
	return late, nil
}

// records makes records of small jobs.
func (b beside) records(ctx context.Context, name string) (ids []string, err error) {
	for range smallJobs {
		var id string
		if err := b.db.QueryRowContext(ctx, "INSERT INTO big.file_download_record (report) VALUES (?) RETURNING id", name).Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// ends fills in when the events of all ids said that they were finished.
func ends(ctx context.Context, client *redis.Client, stream, from string, ids []string, ended map[string]time.Time) error {
	defer client.Close()
	for len(ended) < len(ids) {
		read, err := client.XRead(ctx, &redis.XReadArgs{Streams: []string{stream, from}, Block: time.Second}).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return errors.Join(err, context.Cause(ctx))
		}
		now := time.Now()
		for _, s := range read {
			for _, m := range s.Messages {
				from = m.ID
				id, _ := m.Values["id"].(string)
				if m.Values["event"] != "finished" || !slices.Contains(ids, id) {
					continue
				}
				if m.Values["status"] != "SUCCESS" {
					return fmt.Errorf("a small job has ended: %v", m.Values)
				}
				ended[id] = now
			}
		}
	}
	return nil
}

// quantiles adds the median and the 95th percentile.
func (r *results) quantiles(what, system string, late []time.Duration) {
	slices.Sort(late)
	r.add(what+", median", system, "ms", late[len(late)/2].Seconds()*1000)
	r.add(what+", p95", system, "ms", late[len(late)*95/100].Seconds()*1000)
}

// togetherTargets compare small jobs beside the join with the same ones alone.
func togetherTargets() (all []target) {
	for _, small := range smallReports {
		for _, figure := range []struct{ quantile, limit string }{{"median", "<= 1.5"}, {"p95", ""}} {
			what := whatTogether + ", " + figure.quantile
			all = append(all, target{
				strings.Replace(what, "jobs", "jobs beside a join of 1M x 1M rows, "+small.about, 1), "without it", "", figure.limit,
				over(what, smallBeside+", "+small.about, what, smallAlone+", "+small.about),
			})
		}
	}
	return all
}
