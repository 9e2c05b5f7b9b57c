package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// streams is what can be had from Redis when nothing is promised: every listener
// is a consumer group of the one stream of ids, so the fan-out costs nothing; a
// batch is one pipeline; the script that counts also hands the job on. There are
// no attempts, retries, timeouts or limits, and nobody takes over from the dead.
type streams struct {
	listeners int
	redis     *redis.Client
}

const (
	streamsBatch = 100
	streamsIDs   = "streams:ids"
	streamsFolds = "streams:folds"
	streamsBlock = 200 * time.Millisecond // then see whether ctx has ended
)

// KEYS  1 hash, 2 stream of the folds
// ARGV  1 listener, 2 its numbers, 3 how many listeners there are, 4 id
var streamsCount = redis.NewScript(`
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
local done = redis.call('HINCRBY', KEYS[1], 'done', 1)
if done == tonumber(ARGV[3]) then
  redis.call('XADD', KEYS[2], '*', 'id', ARGV[4])
end
return done
`)

func startStreams(ctx context.Context, s servers, listeners int) (peer, error) {
	p := &streams{listeners: listeners, redis: s.redis.Client()}
	if err := streamsCount.Load(ctx, p.redis).Err(); err != nil {
		return nil, err
	}
	_, err := p.redis.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for l := range listeners {
			pipe.XGroupCreateMkStream(ctx, streamsIDs, listenerName(l), "0")
		}
		pipe.XGroupCreateMkStream(ctx, streamsFolds, "fold", "0")
		return nil
	})
	return p, err
}

func (p *streams) push(ctx context.Context, ids []string) error {
	_, err := p.redis.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, id := range ids {
			pipe.XAdd(ctx, &redis.XAddArgs{Stream: streamsIDs, Values: []string{"id", id}})
		}
		return nil
	})
	return err
}

func (p *streams) run(ctx context.Context, tell told) error {
	group, ctx := errgroup.WithContext(ctx)
	for l := range p.listeners {
		group.Go(func() error {
			return p.read(ctx, streamsIDs, listenerName(l), func(pipe redis.Pipeliner, id string) func() {
				if tell.started != nil {
					tell.started(id)
				}
				streamsCount.EvalSha(ctx, pipe, []string{jobHash(id), streamsFolds}, listenerName(l), numbersJSON(), p.listeners, id)
				return func() {}
			})
		})
	}
	group.Go(func() error {
		return p.read(ctx, streamsFolds, "fold", func(pipe redis.Pipeliner, id string) func() {
			fields := pipe.HGetAll(ctx, jobHash(id))
			pipe.Unlink(ctx, jobHash(id))
			return func() { tell.folded(id, wrong(fields.Val(), p.listeners)) }
		})
	})
	return group.Wait()
}

// read has each handle add its commands to the pipeline of a batch, and calls what
// it returned once that has run.
func (p *streams) read(ctx context.Context, stream, group string, handle func(redis.Pipeliner, string) func()) error {
	for ctx.Err() == nil {
		got, err := p.redis.XReadGroup(ctx, &redis.XReadGroupArgs{
			Group: group, Consumer: "bench", Streams: []string{stream, ">"}, Count: streamsBatch, Block: streamsBlock,
		}).Result()
		if errors.Is(err, redis.Nil) || ctx.Err() != nil {
			continue
		}
		if err != nil {
			return err
		}
		var entries []string
		var after []func()
		_, err = p.redis.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, m := range got[0].Messages {
				entries = append(entries, m.ID)
				after = append(after, handle(pipe, m.Values["id"].(string)))
			}
			pipe.XAck(ctx, stream, group, entries...)
			return nil
		})
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return err
		}
		for _, then := range after {
			then()
		}
	}
	return nil
}

func (p *streams) hash(id string) string { return jobHash(id) }

func (p *streams) close() { _ = p.redis.Close() }
