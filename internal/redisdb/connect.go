package redisdb

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
)

// errURL contains no part of the URL, which may include a password.
var errURL = errors.New("redis: not a valid URL: write redis://user:password@host:port/db")

// Connect returns a client of at most poolSize connections per server. It waits at least
// readTimeout for an answer; 0 is the default of go-redis, 3 s. It does no I/O: the first command
// connects. The caller closes it.
//
// With Sentinel, the client follows the master: when another server is promoted, it reconnects
// there. In a cluster, it sends every command to the master of its key.
func Connect(r report.Redis, poolSize int, readTimeout time.Duration) (redis.UniversalClient, error) {
	if r.Sentinel.Master != "" {
		return connectSentinel(r, poolSize, readTimeout)
	}
	if len(r.Cluster) > 0 {
		return connectCluster(r, poolSize, readTimeout)
	}
	o, err := redis.ParseURL(plainURL(r.URL))
	if err != nil {
		return nil, errURL
	}
	if !r.TLS.None() {
		server := ""
		if o.TLSConfig != nil {
			server = o.TLSConfig.ServerName
		}
		if o.TLSConfig, err = r.TLS.Config(server); err != nil {
			return nil, fmt.Errorf("redis: %w", err)
		}
	}
	if o.ReadTimeout >= 0 { // below 0: no timeout
		o.ReadTimeout = max(o.ReadTimeout, readTimeout)
	}
	o.PoolSize, o.ContextTimeoutEnabled, o.DisableIdentity = poolSize, true, true
	o.Dialer = dialer(cmp.Or(o.DialTimeout, dialTimeout), o.TLSConfig)
	return redis.NewClient(o), nil
}

// BlockingTimeout is the readTimeout of a client for blocking reads. It equals what go-redis allows
// a single read that blocks for a second. If a read timed out earlier, it would be sent again, and
// a Redis that hung would deliver entries to both.
const BlockingTimeout = 11 * time.Second

// plainURL returns a URL with a scheme that go-redis knows: Valkey speaks the same protocol.
func plainURL(url report.Secret) string {
	text := url.Reveal()
	if rest, ok := strings.CutPrefix(text, "valkey"); ok {
		return "redis" + rest
	}
	return text
}

// encryption returns the TLS settings; nil: no TLS.
func encryption(r report.Redis) (*tls.Config, error) {
	if !r.Encrypt {
		return nil, nil
	}
	c, err := r.TLS.Config("")
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	return c, nil
}

func connectCluster(r report.Redis, poolSize int, readTimeout time.Duration) (redis.UniversalClient, error) {
	encrypt, err := encryption(r)
	if err != nil {
		return nil, err
	}
	c := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: r.Cluster, Username: r.User, Password: r.Password.Reveal(), TLSConfig: encrypt,
		Dialer: dialer(dialTimeout, encrypt), PoolSize: poolSize, ReadTimeout: readTimeout,
		ContextTimeoutEnabled: true, DisableIdentity: true,
		ClusterStateReloadInterval: reloadEvery, FailingTimeoutSeconds: 1, DialerRetries: 1,
	})
	c.OnNewNode(func(node *redis.Client) { node.AddHook(slotsHook{}) })
	return c, nil
}

// slotsTimeout is how long a node may take to answer CLUSTER SLOTS before another one is asked.
// go-redis asks one node at a time, so a node that hangs would hide its successor for the whole
// read timeout.
const slotsTimeout = 300 * time.Millisecond

// slotsHook bounds CLUSTER SLOTS by slotsTimeout.
type slotsHook struct{}

func (slotsHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (slotsHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (slotsHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if _, ok := cmd.(*redis.ClusterSlotsCmd); ok {
			limited, cancel := context.WithTimeout(ctx, slotsTimeout)
			defer cancel()
			ctx = limited
		}
		return next(ctx, cmd)
	}
}

// reloadEvery is the maximum age of a client's view of the cluster. A dead node cannot say which
// replica was promoted: with the default of go-redis, a minute, commands would fail for that long.
const reloadEvery = time.Second

func connectSentinel(r report.Redis, poolSize int, readTimeout time.Duration) (redis.UniversalClient, error) {
	encrypt, err := encryption(r)
	if err != nil {
		return nil, err
	}
	return redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: r.Sentinel.Master, SentinelAddrs: r.Sentinel.Addresses,
		SentinelUsername: r.Sentinel.User, SentinelPassword: r.Sentinel.Password.Reveal(),
		Username: r.User, Password: r.Password.Reveal(), DB: r.DB, TLSConfig: encrypt,
		Dialer: dialer(dialTimeout, encrypt), PoolSize: poolSize, ReadTimeout: readTimeout,
		ContextTimeoutEnabled: true, DisableIdentity: true,
	}), nil
}
