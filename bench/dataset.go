package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

const (
	whatDatasetText                 = ", JSON text of the datasets"
	whatDatasetRedis                = ", memory that Redis takes for them"
	datasetPlain, datasetCompressed = "fanfold", "fanfold, compressed"

	whatDatasetRatio = ", memory that Redis takes for 1 byte of that text"
)

// datasetSettings are the ways to keep a dataset. The text is that of the first.
var datasetSettings = []struct {
	system   string
	settings map[string]any
}{
	{datasetPlain, nil},
	{datasetCompressed, map[string]any{"limits": map[string]any{"redis_compression": "zstd"}}},
}

// datasets measures what Redis takes for the datasets of a job while it waits for
// its fold.
func (j *joiner) datasets(ctx context.Context, r *results) error {
	var text int64
	what := joinName(j.rows)
	for i, way := range datasetSettings {
		p, err := j.product(ctx, way.settings)
		if err != nil {
			return err
		}
		size, memory, err := j.dataset(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", way.system, err)
		}
		if i == 0 {
			text = size
			r.add(what+whatDatasetText, way.system, "MB", float64(text)/1e6)
		}
		r.add(what+whatDatasetRedis, way.system, "MB", memory)
		r.add(what+whatDatasetRatio, way.system, "bytes", memory*1e6/float64(text))
	}
	return nil
}

// dataset has a job wait for its fold: a process of the engine alone starts it, and
// has ended when one of the listeners writes. It returns the bytes of the fields, and
// the memory (MB) that is in use for the job, then has the job folded.
func (j *joiner) dataset(ctx context.Context, p product) (text int64, memory float64, err error) {
	client := j.redis.Client()
	defer client.Close()
	keys := scripts.NewKeys(report.DefaultKeys)
	id, err := j.insert(ctx)
	if err != nil {
		return 0, 0, err
	}
	if err := j.during(ctx, p, []string{"engine"}, func() error {
		if err := p.do(ctx, "submit", id); err != nil {
			return err
		}
		return longer(ctx, client, keys.Task("big.a"), 1)
	}); err != nil {
		return 0, 0, err
	}
	before, err := usedMemory(ctx, client, "used_memory")
	if err != nil {
		return 0, 0, err
	}
	if err := j.during(ctx, p, []string{"listeners"}, func() error {
		return longer(ctx, client, keys.FanInLarge, 1)
	}); err != nil {
		return 0, 0, err
	}
	if memory, err = usedMemory(ctx, client, "used_memory"); err != nil {
		return 0, 0, err
	}
	if text, err = textOf(ctx, client, keys.Job(id)); err != nil {
		return 0, 0, err
	}
	err = j.during(ctx, p, nil, func() error { return p.do(ctx, "submit", "--wait", id) })
	if err == nil {
		err = j.found(ctx, id)
	}
	return text, memory - before, err
}

// during runs a process for as long as do takes.
func (j *joiner) during(ctx context.Context, p product, roles []string, do func() error) error {
	serve, err := p.serve(ctx, roles...)
	if err != nil {
		return err
	}
	err = do()
	if _, stopped := serve.stop(); err == nil {
		err = stopped
	}
	return err
}

// longer waits until a stream has that many entries.
func longer(ctx context.Context, client *redis.Client, stream string, entries int64) error {
	for {
		n, err := client.XLen(ctx, stream).Result()
		if err != nil || n >= entries {
			return err
		}
		if err := wait(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// textOf is the length of all fields of a hash.
func textOf(ctx context.Context, client *redis.Client, key string) (int64, error) {
	fields, err := client.HKeys(ctx, key).Result()
	if err != nil {
		return 0, err
	}
	lengths := make([]*redis.IntCmd, len(fields))
	if _, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, field := range fields {
			lengths[i] = p.HStrLen(ctx, key, field)
		}
		return nil
	}); err != nil {
		return 0, err
	}
	var text int64
	for _, n := range lengths {
		text += n.Val()
	}
	return text, nil
}
