package quiet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// ErrDown is matched by the errors of a Redis that does not answer.
var ErrDown = errors.New("Redis cannot be reached")

// Watch sees what the clients of one Redis do. It is safe for concurrent use.
type Watch struct {
	// Type returns what a key is to be, as TYPE names it; empty: not known.
	Type func(key string) string

	mu    sync.Mutex
	log   *slog.Logger // nil: nothing is said
	down  time.Time    // since when; zero: it is not
	heard time.Time    // when a command that has succeeded last was begun
}

// Tell has a Watch tell a log what becomes of Redis; nil: it tells nobody any more.
func (w *Watch) Tell(log *slog.Logger) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = log
}

// On has a Watch see what a client does.
func (w *Watch) On(client *redis.Client) { client.AddHook(hook{w, client}) }

// hook is a Watch at one client.
type hook struct {
	*Watch
	client *redis.Client
}

var _ redis.Hook = hook{}

func (h hook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		began := time.Now()
		conn, err := next(ctx, network, addr)
		return conn, h.saw(began, err)
	}
}

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		began := time.Now()
		err := h.saw(began, next(ctx, cmd))
		cmd.SetErr(err)
		h.explain(ctx, cmd)
		return cmd.Err()
	}
}

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		began := time.Now()
		err := h.saw(began, next(ctx, cmds))
		for _, cmd := range cmds {
			if isDown(cmd.Err()) {
				cmd.SetErr(mark(cmd.Err()))
			}
			h.explain(ctx, cmd)
		}
		return err
	}
}

// saw notes how a command ended, and marks its error.
func (w *Watch) saw(began time.Time, err error) error {
	down := isDown(err)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case down && w.down.IsZero() && !w.heard.After(began):
		w.down = time.Now()
		if w.log != nil {
			w.log.Error("Redis is down: workers wait for it, and no try is used", "err", err)
		}
	case down, err != nil && errors.Is(err, context.Canceled), err != nil && errors.Is(err, context.DeadlineExceeded):
	default:
		if w.heard.Before(began) {
			w.heard = began
		}
		if !w.down.IsZero() && began.After(w.down) {
			if w.log != nil {
				w.log.Warn("Redis is back", "after", time.Since(w.down).Round(time.Millisecond))
			}
			w.down = time.Time{}
		}
	}
	if down {
		return mark(err)
	}
	return err
}

func mark(err error) error {
	if errors.Is(err, ErrDown) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDown, err)
}

// isDown tells whether an error says that Redis does not answer, or not yet.
func isDown(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var broken net.Error
	return errors.Is(err, ErrDown) || errors.As(err, &broken) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		redis.HasErrorPrefix(err, "LOADING") || redis.HasErrorPrefix(err, "MASTERDOWN")
}

const wrongType = "WRONGTYPE"

// explain adds to errors of the wrong type which key has it: to that of a command, and to
// those in the answer of a script.
func (h hook) explain(ctx context.Context, cmd redis.Cmder) {
	if h.client == nil || h.Type == nil {
		return
	}
	if err := cmd.Err(); err != nil && strings.HasPrefix(err.Error(), wrongType) {
		cmd.SetErr(h.named(ctx, cmd, err))
		return
	}
	script, ok := cmd.(*redis.Cmd)
	if !ok || script.Err() != nil {
		return
	}
	answers, _ := script.Val().([]any)
	for i, answer := range answers {
		if err, ok := answer.(error); ok && strings.Contains(err.Error(), wrongType) {
			answers[i] = h.named(ctx, cmd, err)
		}
	}
}

// mostKeys bounds how many keys of a command are looked at.
const mostKeys = 200

// named is an error with the key of the wrong type.
func (h hook) named(ctx context.Context, cmd redis.Cmder, err error) error {
	if strings.Contains(err.Error(), "redis-cli TYPE") {
		return err
	}
	looked := 0
	for _, arg := range cmd.Args() {
		key, _ := arg.(string)
		want := ""
		if key != "" {
			want = h.Type(key)
		}
		if want == "" {
			continue
		}
		if looked++; looked > mostKeys {
			break
		}
		if is := h.client.Type(ctx, key).Val(); is != "" && is != "none" && is != want {
			return fmt.Errorf("%w: the key %s is a %s, not a %s: look at it with redis-cli TYPE '%s'", err, key, is, want, key)
		}
	}
	return err
}
