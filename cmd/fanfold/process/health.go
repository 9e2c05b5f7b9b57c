package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/sink"
)

// health tells whether the servers of a process answer.
type health struct{ *Process }

// ping checks that Redis and the records' database answer: every master, or with some at least one.
func (p health) ping(ctx context.Context, some bool) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	masters, err := redisdb.Masters(ctx, p.Redis)
	answers := 0
	for _, master := range masters {
		failed := master.Ping(ctx).Err()
		if err = cmp.Or(err, failed); failed == nil {
			answers++
		}
	}
	if some && answers > 0 {
		err = nil
	}
	if hint := redisdb.Hint(p.Config.Redis, err); hint != "" {
		return fault.Unreachable.New("redis: %w\n%s", err, hint)
	} else if errors.As(err, new(net.Error)) {
		return fault.Unreachable.Of(err) // it names Redis
	} else if err != nil {
		return fault.Unreachable.New("redis: %w", err)
	}
	if len(p.Config.Redis.Cluster) == 0 { // in a cluster, the first master may be the one that hangs
		// The ACL of the user may deny INFO.
		if info, err := masters[0].InfoMap(ctx, "server").Result(); err == nil {
			if err := redisdb.CheckMode(p.Config.Redis, info["Server"]); err != nil {
				return fault.Config.New("redis: %w", err)
			}
		}
	}
	if err := p.Rows.PingContext(ctx); err != nil {
		return fault.Unreachable.New("database %s: %w", p.Config.Records.Database, err)
	}
	return nil
}

// ready returns why this process cannot work, or nil. The sink is judged by its last write.
func (p health) ready(ctx context.Context) error {
	if err := p.ping(ctx, false); err != nil || p.files == nil {
		return err
	}
	if err := p.files.State(ctx); err != nil {
		return fmt.Errorf("sink: %w", err)
	}
	return nil
}

// sink returns the error of the last write of this process if it persists, and otherwise that
// of listing a prefix without files.
func (p health) sink(ctx context.Context) error {
	if p.files != nil {
		if err := p.files.State(ctx); err != nil {
			return err
		}
	}
	return answers(ctx, p.reads)
}

// spool returns the error of listing a prefix without segments.
func (p health) spool(ctx context.Context) error { return answers(ctx, p.lists) }

// answers returns the error of listing a prefix without objects.
func answers(ctx context.Context, open func(context.Context) (sink.Sink, error)) error {
	place, err := open(ctx)
	if err != nil {
		return err
	}
	for _, err := range place.List(ctx, sink.ProbeFolder+"none") {
		return err
	}
	return nil
}
