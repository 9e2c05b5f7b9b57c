package redisdb

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
)

// errURL holds no part of the URL, which can have a password.
var errURL = errors.New("redis: not a URL that go-redis understands")

// Connect returns a client of at most poolSize connections for each server, which waits for an
// answer for at least readTimeout; 0 is the default of go-redis, 3 s. It does no I/O: the first
// command connects. The caller closes it.
//
// With Sentinel the client follows the master: when another server is promoted, its connections
// are made anew there. In a cluster it sends each command to the master of its key.
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
	if o.ReadTimeout >= 0 { // below 0 it is none
		o.ReadTimeout = max(o.ReadTimeout, readTimeout)
	}
	o.PoolSize, o.ContextTimeoutEnabled, o.DisableIdentity = poolSize, true, true
	return redis.NewClient(o), nil
}

// BlockingTimeout is the readTimeout of a client whose reads wait for entries. It is what go-redis
// gives a single read that waits for a second: one that ends sooner is sent again, and a Redis that
// hung meanwhile gives entries to both.
const BlockingTimeout = 11 * time.Second

// plainURL is a URL as go-redis knows it: Valkey speaks the same protocol.
func plainURL(url report.Secret) string {
	text := url.Reveal()
	if rest, ok := strings.CutPrefix(text, "valkey"); ok {
		return "redis" + rest
	}
	return text
}

// encryption returns the settings of TLS; nil: none is asked for.
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
		PoolSize: poolSize, ReadTimeout: readTimeout, ContextTimeoutEnabled: true, DisableIdentity: true,
		ClusterStateReloadInterval: reloadEvery, FailingTimeoutSeconds: 1, DialerRetries: 1,
	})
	c.OnNewNode(func(node *redis.Client) { node.AddHook(slotsHook{}) })
	return c, nil
}

// slotsTimeout is how long a node may take to say which slots the nodes have. Then another one is
// asked: go-redis asks one at a time, and one that hangs would hide for the whole read timeout who
// has taken its place.
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

// reloadEvery is how old what a client knows of its cluster may be. A node that is dead does not
// say which one was promoted: with the minute that is the default of go-redis, commands would fail
// for that long.
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
		PoolSize: poolSize, ReadTimeout: readTimeout, ContextTimeoutEnabled: true, DisableIdentity: true,
	}), nil
}
