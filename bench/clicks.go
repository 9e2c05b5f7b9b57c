package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

const (
	clicks     = 1_000 // equal jobs
	clickRows  = "10000"
	whatClicks = "1,000 equal jobs of 2 × 10000 rows"
	withShared = "once"
	withoutIt  = "each for itself"
)

// equalClicks measures equal jobs that are pushed at once, and how often their sources are read, with once and
// without.
func equalClicks(ctx context.Context, o options, dir string, r *results) error {
	j, err := startJoin(ctx, dir, 100_000)
	if err != nil {
		return err
	}
	defer j.stop()
	b := beside{j}
	reports := map[string]any{}
	for _, name := range []string{withShared, withoutIt} {
		of := clickReport()
		if name == withShared {
			of["once"] = map[string]any{"window": "5m", "per": []string{"report", "parameters"}}
		}
		reports[clickName(name)] = of
	}
	p, err := newProduct(ctx, b.program, dir, b.redis, b.mariadb, "big", map[string]any{"reports": reports})
	if err != nil {
		return err
	}
	for range o.rounds {
		for _, name := range []string{withoutIt, withShared} {
			if err := b.click(ctx, p, name, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func clickName(system string) string {
	if system == withShared {
		return "once"
	}
	return "each"
}

func clickReport() map[string]any {
	const some = " WHERE user_id BETWEEN 1 AND " + clickRows
	return map[string]any{
		"listeners": map[string]any{
			"a": map[string]any{"database": "big", "query": selectA + some},
			"b": map[string]any{"database": "big", "query": selectB + some},
		},
		"join": map[string]any{"key": "user_id", "listeners": []string{"a", "b"}},
		"file": map[string]any{"columns": []any{"user_id", "name", "tag", "id", "amount", "fee", "status", "note"}},
	}
}

// click pushes all jobs of a report and waits for them. A new process and an empty Redis know of no earlier file.
func (b beside) click(ctx context.Context, p product, name string, r *results) (err error) {
	client := b.redis.Client()
	defer client.Close()
	if err := client.FlushAll(ctx).Err(); err != nil {
		return err
	}
	serve, err := p.serve(ctx)
	if err != nil {
		return err
	}
	defer func() {
		_, stopped := serve.stop()
		err = errors.Join(err, stopped)
	}()
	ids := make([]string, clicks)
	for i := range ids {
		inserted := b.db.QueryRowContext(ctx,
			"INSERT INTO big.file_download_record (report) VALUES (?) RETURNING id", clickName(name))
		if err := inserted.Scan(&ids[i]); err != nil {
			return err
		}
	}
	keys := scripts.NewKeys(report.DefaultKeys)
	before, err := serve.cpu()
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeoutCause(ctx, workTimeout, errors.New("it is stuck"))
	defer cancel()
	begin, ended := time.Now(), map[string]time.Time{}
	pipe := client.Pipeline()
	for _, id := range ids {
		pipe.XAdd(ctx, &redis.XAddArgs{Stream: keys.Jobs, Values: []any{"id", id}})
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return err
	}
	if err := ends(limited, b.redis.Client(), keys.Events, "0", ids, ended); err != nil {
		return err
	}
	took := time.Since(begin)
	after, err := serve.cpu()
	if err != nil {
		return err
	}
	runs := 0
	events, err := client.XRange(ctx, keys.Events, "-", "+").Result()
	if err != nil {
		return err
	}
	for _, m := range events {
		if m.Values["event"] == "started" {
			runs++
		}
	}
	r.add(whatClicks+", until all have their file", name, "s", took.Seconds())
	r.add(whatClicks+", CPU of the process", name, "s", (after - before).Seconds())
	r.add(whatClicks+", reads of each source", name, "reads", float64(runs))
	return nil
}

// clickTargets: a question that is asked many times is answered once.
func clickTargets() []target {
	reads, took := whatClicks+", reads of each source", whatClicks+", until all have their file"
	cpu := whatClicks + ", CPU of the process"
	return []target{
		{"1,000 equal jobs with once: reads of each source", "", "reads", "<= 1", of(reads, withShared)},
		{"1,000 equal jobs with once: time", "each for itself", "", "", over(took, withShared, took, withoutIt)},
		{"1,000 equal jobs with once: CPU of the process", "each for itself", "", "", over(cpu, withShared, cpu, withoutIt)},
	}
}
