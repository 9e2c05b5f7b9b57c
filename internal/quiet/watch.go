package quiet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrDown matches errors of a Redis that does not answer.
var ErrDown = errors.New("Redis cannot be reached")

// Watch observes the clients of one Redis: a server, or the nodes of a cluster, which can be down
// one by one. It is safe for concurrent use.
type Watch struct {
	// Type returns the type that a key must have, as the TYPE command names it; empty: unknown.
	Type func(key string) string

	nodes map[string]*Watch // nodes of a cluster, by address
	part  bool              // this is a node of a cluster

	mu       sync.Mutex
	log      *slog.Logger // nil: log nothing
	down     time.Time    // since when Redis is down; zero: it is up
	back     time.Time    // when the last outage ended
	answered time.Time    // when the last answer of Redis arrived
	types    types
}

// SetLog sets the log to which a Watch writes when Redis goes down and comes back; nil: none.
func (w *Watch) SetLog(log *slog.Logger) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = log
	for address, node := range w.nodes {
		node.SetLog(ofNode(log, address))
	}
}

// ofNode returns a log that names a node; nil stays nil.
func ofNode(log *slog.Logger, address string) *slog.Logger {
	if log == nil {
		return nil
	}
	return log.With("node", address)
}

// node returns the Watch of a node of a cluster.
func (w *Watch) node(address string) *Watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.nodes == nil {
		w.nodes = map[string]*Watch{}
	}
	if w.nodes[address] == nil {
		w.nodes[address] = &Watch{Type: w.Type, part: true, log: ofNode(w.log, address)}
	}
	return w.nodes[address]
}

// On makes a Watch observe a client. In a cluster it observes every node that the client finds.
func (w *Watch) On(client redis.UniversalClient) {
	switch c := client.(type) {
	case *redis.Client:
		c.AddHook(hook{w, c})
	case *redis.ClusterClient:
		c.OnNewNode(func(node *redis.Client) { node.AddHook(hook{w.node(node.Options().Addr), node}) })
	}
}

// hook connects a Watch to one client.
type hook struct {
	*Watch
	client *redis.Client
}

var _ redis.Hook = hook{}

// DialHook counts only failures: the kernel accepts connections even if Redis hangs.
func (h hook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		began := time.Now()
		conn, err := next(ctx, network, addr)
		if err != nil {
			// A dial timeout looks like the end of the caller's context, which says nothing about
			// Redis.
			timeout := errors.Is(err, context.DeadlineExceeded) && time.Since(began) >= h.client.Options().DialTimeout
			err = h.observe(began, err, timeout || isDown(err))
		}
		return conn, err
	}
}

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		began := time.Now()
		err := next(ctx, cmd)
		if _, ok := cmd.(*redis.ClusterSlotsCmd); ok {
			return err // its timeout is too short to mean an outage: see redisdb.Connect
		}
		cmd.SetErr(h.observe(began, err, isDown(err)))
		h.explain(ctx, cmd)
		return cmd.Err()
	}
}

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		began := time.Now()
		err := next(ctx, cmds)
		err = h.observe(began, err, isDown(err))
		for _, cmd := range cmds {
			if isDown(cmd.Err()) {
				cmd.SetErr(h.mark(began, cmd.Err()))
			}
			h.explain(ctx, cmd)
		}
		return err
	}
}

// observe records how a command or a dial ended, and marks its error during an outage.
func (w *Watch) observe(began time.Time, err error, down bool) error {
	if errors.Is(err, ErrDown) {
		return err // an inner hook observed it, or the pool repeats the error of an earlier dial
	}
	w.mu.Lock()
	var answer redis.Error
	switch {
	case down && w.down.IsZero() && !w.answered.After(began):
		w.down = time.Now()
		if w.log != nil {
			message := "Redis is down: workers wait until it is back; outages do not count as tries"
			if w.part {
				message = "a Redis node is down: jobs of its partitions wait until the node or its replica answers; outages do not count as tries"
			}
			w.log.Error(message, "err", err)
		}
	case down:
	case err == nil || errors.As(err, &answer):
		w.answered = time.Now()
		if !w.down.IsZero() && began.After(w.down) {
			if w.log != nil {
				message := "Redis is back"
				if w.part {
					message = "a Redis node is back"
				}
				w.log.Warn(message, "after", time.Since(w.down).Round(time.Millisecond))
			}
			w.down, w.back = time.Time{}, w.answered
		}
	}
	w.mu.Unlock()
	// An exhausted pool or a caller's deadline says nothing about Redis, but during an outage both
	// are consequences of it.
	if down || errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, context.DeadlineExceeded) {
		return w.mark(began, err)
	}
	return err
}

// mark marks the error of a command that was running during an outage. Other errors stay unmarked:
// no line of the log explains them.
func (w *Watch) mark(began time.Time, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(err, ErrDown) || w.down.IsZero() && !began.Before(w.back) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDown, err)
}

// isDown tells whether an error means that Redis does not answer, or not yet.
func isDown(err error) bool {
	if errors.Is(err, ErrDown) {
		return true
	}
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var broken net.Error
	return errors.As(err, &broken) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		redis.HasErrorPrefix(err, "LOADING") || redis.HasErrorPrefix(err, "MASTERDOWN")
}
