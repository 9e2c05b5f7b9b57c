package redisdb

import (
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

// Connect returns a client of at most poolSize connections for each server; 0 is the default of
// go-redis, 10 for each CPU. It does no I/O: the first command connects. The caller closes it.
//
// With Sentinel the client follows the master: when another server is promoted, its connections
// are made anew there. In a cluster it sends each command to the master of its key.
func Connect(r report.Redis, poolSize int) (redis.UniversalClient, error) {
	if r.Sentinel.Master != "" {
		return connectSentinel(r, poolSize)
	}
	if len(r.Cluster) > 0 {
		return connectCluster(r, poolSize)
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
	if 0 < o.ReadTimeout && o.ReadTimeout < minReadTimeout {
		o.ReadTimeout = minReadTimeout
	}
	o.PoolSize, o.ContextTimeoutEnabled, o.DisableIdentity = poolSize, true, true
	return redis.NewClient(o), nil
}

// minReadTimeout is the default of go-redis. Pipelines have calls in them that wait for a second,
// which a shorter read_timeout in the URL would end.
const minReadTimeout = 3 * time.Second

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

func connectCluster(r report.Redis, poolSize int) (redis.UniversalClient, error) {
	encrypt, err := encryption(r)
	if err != nil {
		return nil, err
	}
	return redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: r.Cluster, Username: r.User, Password: r.Password.Reveal(), TLSConfig: encrypt,
		PoolSize: poolSize, ContextTimeoutEnabled: true, DisableIdentity: true,
		ClusterStateReloadInterval: reloadEvery, FailingTimeoutSeconds: 1, DialerRetries: 1,
	}), nil
}

// reloadEvery is how old what a client knows of its cluster may be. A node that is dead does not
// say which one was promoted: with the minute that is the default of go-redis, commands would fail
// for that long.
const reloadEvery = time.Second

func connectSentinel(r report.Redis, poolSize int) (redis.UniversalClient, error) {
	encrypt, err := encryption(r)
	if err != nil {
		return nil, err
	}
	return redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: r.Sentinel.Master, SentinelAddrs: r.Sentinel.Addresses,
		SentinelUsername: r.Sentinel.User, SentinelPassword: r.Sentinel.Password.Reveal(),
		Username: r.User, Password: r.Password.Reveal(), DB: r.DB, TLSConfig: encrypt,
		PoolSize: poolSize, ContextTimeoutEnabled: true, DisableIdentity: true,
	}), nil
}
