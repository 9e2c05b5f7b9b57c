package main

import (
	"context"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"
)

// asynqPeer fans out by enqueuing one task for each listener. Each handler writes
// its numbers and counts in one transaction; the one that counts to the end
// enqueues the task that folds. All tasks are in one queue, since each further queue
// makes a dequeue dearer. Tasks have asynq's default options, and so its guarantee:
// a task runs at least once; a listener that runs twice would be counted twice.
type asynqPeer struct {
	listeners int
	redis     *redis.Client
	client    *asynq.Client
	connect   asynq.RedisClientOpt
	config    asynq.Config
	servers   int
}

var _ delayer = (*asynqPeer)(nil)

const (
	// Handlers that wait for Redis: as many as Fanfold runs.
	asynqConcurrency = 64
	// A server takes its tasks one by one in one loop, and several servers in a
	// process are allowed: two are faster than one.
	asynqServers = 2
	// A server that found nothing looks again after this time, on average; asynq's
	// default is a second, and 5 s for delayed tasks.
	asynqInterval = 10 * time.Millisecond
)

func startAsynq(_ context.Context, s servers, listeners int) (peer, error) {
	return newAsynq(s, listeners, asynqInterval), nil
}

// startAsynqDefault looks for tasks as often as asynq does by default.
func startAsynqDefault(_ context.Context, s servers, listeners int) (peer, error) {
	return newAsynq(s, listeners, 0), nil
}

func newAsynq(s servers, listeners int, interval time.Duration) *asynqPeer {
	connect := asynq.RedisClientOpt{Addr: s.redis.Addr, PoolSize: asynqConcurrency}
	return &asynqPeer{
		listeners: listeners, redis: s.redis.Client(), client: asynq.NewClient(connect), connect: connect, servers: asynqServers,
		config: asynq.Config{
			Concurrency: asynqConcurrency / asynqServers, LogLevel: asynq.ErrorLevel,
			TaskCheckInterval: interval, DelayedTaskCheckInterval: interval,
		},
	}
}

func (p *asynqPeer) push(ctx context.Context, ids []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(asynqConcurrency) // asynq has no call that enqueues several
	for _, id := range ids {
		for l := range p.listeners {
			group.Go(func() error {
				_, err := p.client.EnqueueContext(ctx, asynq.NewTask(listenerName(l), []byte(id)))
				return err
			})
		}
	}
	return group.Wait()
}

func (p *asynqPeer) pushAt(ctx context.Context, id string, at time.Time) error {
	for l := range p.listeners {
		if _, err := p.client.EnqueueContext(ctx, asynq.NewTask(listenerName(l), []byte(id)), asynq.ProcessAt(at)); err != nil {
			return err
		}
	}
	return nil
}

func (p *asynqPeer) run(ctx context.Context, tell told) error {
	mux := asynq.NewServeMux()
	for l := range p.listeners {
		mux.HandleFunc(listenerName(l), func(ctx context.Context, t *asynq.Task) error {
			if tell.started != nil {
				tell.started(string(t.Payload()))
			}
			return p.listen(ctx, listenerName(l), string(t.Payload()))
		})
	}
	mux.HandleFunc("fold", func(ctx context.Context, t *asynq.Task) error {
		return p.fold(ctx, string(t.Payload()), tell)
	})
	for range p.servers {
		server := asynq.NewServer(p.connect, p.config)
		if err := server.Start(mux); err != nil {
			return err
		}
		defer server.Shutdown()
	}
	<-ctx.Done()
	return nil
}

func (p *asynqPeer) listen(ctx context.Context, listener, id string) error {
	var done *redis.IntCmd
	if _, err := p.redis.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.HSet(ctx, jobHash(id), listener, numbersJSON())
		done = pipe.HIncrBy(ctx, jobHash(id), "done", 1)
		return nil
	}); err != nil {
		return err
	}
	if done.Val() != int64(p.listeners) {
		return nil
	}
	_, err := p.client.EnqueueContext(ctx, asynq.NewTask("fold", []byte(id)))
	return err
}

func (p *asynqPeer) fold(ctx context.Context, id string, tell told) error {
	fields, err := p.redis.HGetAll(ctx, jobHash(id)).Result()
	if err != nil {
		return err
	}
	bad := wrong(fields, p.listeners)
	if err := p.redis.Unlink(ctx, jobHash(id)).Err(); err != nil {
		return err
	}
	tell.folded(id, bad)
	return nil
}

func (p *asynqPeer) hash(id string) string { return jobHash(id) }

func (p *asynqPeer) close() {
	_ = p.client.Close()
	_ = p.redis.Close()
}
