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

	"github.com/fanfold/fanfold/internal/aged"
)

// ErrDown marks the errors of a Redis that does not answer.
var ErrDown = errors.New("Redis cannot be reached")

// Watch observes the clients of one Redis: a server, or the nodes of a cluster, which can be down
// one by one. It is safe for concurrent use.
type Watch struct {
	// Type returns the type that a key must have, as the TYPE command names it; empty: unknown.
	Type func(key string) string

	mu    sync.Mutex
	log   *slog.Logger     // nil: log nothing
	nodes map[string]*node // by address; empty for the only server
}

// node is a server that is up or down.
type node struct {
	address  string    // of a node of a cluster
	down     time.Time // since when it is down; zero: it is up
	back     time.Time // when the last outage ended
	answered time.Time // when its last answer arrived
}

// SetLog sets the log to which a Watch writes when Redis goes down and comes back; nil: none.
func (w *Watch) SetLog(log *slog.Logger) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = log
}

// On makes a Watch observe a client. In a cluster it observes every node that the client finds.
func (w *Watch) On(client redis.UniversalClient) {
	switch c := client.(type) {
	case *redis.Client:
		c.AddHook(w.hook("", c))
	case *redis.ClusterClient:
		c.OnNewNode(func(node *redis.Client) { node.AddHook(w.hook(node.Options().Addr, node)) })
	}
}

// hook connects a Watch to one client.
type hook struct {
	*Watch
	node        *node
	dialTimeout time.Duration
	types       aged.Cache[string, string] // of keys of which one has the wrong type
}

var _ redis.Hook = (*hook)(nil)

func (w *Watch) hook(address string, client *redis.Client) *hook {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.nodes == nil {
		w.nodes = map[string]*node{}
	}
	if w.nodes[address] == nil {
		w.nodes[address] = &node{address: address}
	}
	h := &hook{Watch: w, node: w.nodes[address], dialTimeout: client.Options().DialTimeout}
	h.types.MaxAge, h.types.Max, h.types.Timeout = 5*time.Second, 1000, time.Second
	h.types.Ask = func(ctx context.Context, key string) (string, error) { return client.Type(ctx, key).Result() }
	return h
}

// DialHook counts only failures: the kernel accepts connections even if Redis hangs.
func (h *hook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		began := time.Now()
		conn, err := next(ctx, network, addr)
		if err != nil {
			// A dial timeout looks like the end of the caller's context, which says nothing about
			// Redis.
			timeout := errors.Is(err, context.DeadlineExceeded) && time.Since(began) >= h.dialTimeout
			err = h.observe(began, err, timeout || isDown(err))
		}
		return conn, err
	}
}

func (h *hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
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

func (h *hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
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
func (h *hook) observe(began time.Time, err error, down bool) error {
	if errors.Is(err, ErrDown) {
		return err // an inner hook observed it, or the pool repeats the error of an earlier dial
	}
	h.mu.Lock()
	var answer redis.Error
	switch n := h.node; {
	case down && n.down.IsZero() && !n.answered.After(began):
		n.down = time.Now()
		h.write(slog.LevelError, "Redis is down: workers wait until it is back; outages do not count as tries", "err",
			err)
	case down:
	case err == nil || errors.As(err, &answer):
		n.answered = time.Now()
		if !n.down.IsZero() && began.After(n.down) {
			h.write(slog.LevelWarn, "Redis is back", "after", time.Since(n.down).Round(time.Millisecond))
			n.down, n.back = time.Time{}, n.answered
		}
	}
	h.mu.Unlock()
	// An exhausted pool or a caller's deadline says nothing about Redis, but during an outage both
	// are consequences of it.
	if down || errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, context.DeadlineExceeded) {
		return h.mark(began, err)
	}
	return err
}

// write logs a message, which names the node of a cluster.
func (h *hook) write(level slog.Level, message string, attrs ...any) {
	if h.node.address != "" {
		attrs = append(attrs, "node", h.node.address)
	}
	if h.log != nil {
		h.log.Log(context.Background(), level, message, attrs...)
	}
}

// mark marks the error of a command that was running during an outage. Other errors stay unmarked:
// no line of the log explains them.
func (h *hook) mark(began time.Time, err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if errors.Is(err, ErrDown) || h.node.down.IsZero() && !began.Before(h.node.back) {
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
