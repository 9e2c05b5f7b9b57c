package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Sentinels are a master, its replicas, and the Sentinels that watch them.
type Sentinels struct {
	Master    string   // its name
	Addresses []string // of the Sentinels
	Servers   []*Redis // the first one is the master at the start
	processes []*process
	replicas  int
}

// sentinelConf makes a Sentinel that notices a dead master after 500 ms.
const sentinelConf = `port %d
bind 127.0.0.1
bind-source-addr %s
dir %s
sentinel announce-ip 127.0.0.1
sentinel monitor fanfold 127.0.0.1 %s 2
sentinel down-after-milliseconds fanfold 500
sentinel failover-timeout fanfold 3000
`

// StartSentinels starts a master with replicas and three Sentinels, whose files are in dir, and
// waits until the Sentinels know all of them. The network is that of the servers; nil: they reach
// each other directly. The settings are those of StartRedis.
func StartSentinels(ctx context.Context, dir string, replicas int, n *Network, settings ...string) (*Sentinels, error) {
	s := &Sentinels{Master: "fanfold", replicas: replicas}
	if err := s.start(ctx, dir, n, settings); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func (s *Sentinels) start(ctx context.Context, dir string, n *Network, settings []string) error {
	for i := range s.replicas + 1 {
		r, err := newRedis(filepath.Join(dir, fmt.Sprint("server-", i)), settings...)
		if err == nil && n != nil {
			_, err = n.join(r, 0)
		}
		if err != nil {
			return err
		}
		var follow []string // a master that comes back is told by the Sentinels
		if i > 0 {
			follow = []string{"--replicaof", "127.0.0.1", s.Servers[0].relayPort()}
		}
		if err := r.Start(ctx, follow...); err != nil {
			return err
		}
		s.Servers = append(s.Servers, r)
	}
	for i := range 3 {
		port, err := freePort()
		if err != nil {
			return err
		}
		folder := filepath.Join(dir, fmt.Sprint("sentinel-", i))
		file := filepath.Join(folder, "sentinel.conf")
		source := "127.0.0.1"
		if n != nil {
			source = n.newHost()
		}
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, fmt.Appendf(nil, sentinelConf, port, source, folder, s.Servers[0].relayPort()), 0o600); err != nil {
			return err
		}
		p, err := startProcess("redis-server", file, "--sentinel")
		if err != nil {
			return err
		}
		s.processes, s.Addresses = append(s.processes, p), append(s.Addresses, "127.0.0.1:"+strconv.Itoa(port))
	}
	_, err := s.Settled(ctx)
	return err
}

// Settled waits until all Sentinels say that the master is well, know each other, and have all
// other servers as its replicas, whose data is up to date. It returns the master.
func (s *Sentinels) Settled(ctx context.Context) (master *Redis, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for i, address := range s.Addresses {
		client := redis.NewSentinelClient(&redis.Options{Addr: address, DisableIdentity: true})
		err = s.processes[i].await(ctx, func(ctx context.Context) error {
			found, err := s.settled(ctx, client)
			if master == nil {
				master = found
			}
			if err == nil && master != found {
				master, err = nil, errors.New("testenv: the Sentinels do not agree on the master")
			}
			return err
		})
		_ = client.Close()
		if err != nil {
			return nil, err
		}
	}
	return master, nil
}

func (s *Sentinels) settled(ctx context.Context, client *redis.SentinelClient) (*Redis, error) {
	state, err := client.Master(ctx, s.Master).Result()
	if err != nil {
		return nil, err
	}
	known, err := client.Sentinels(ctx, s.Master).Result()
	if err != nil {
		return nil, err
	}
	replicas, err := client.Replicas(ctx, s.Master).Result()
	if err != nil {
		return nil, err
	}
	if state["flags"] != "master" || len(known) < len(s.Addresses)-1 || len(replicas) < s.replicas {
		return nil, errors.New("testenv: a Sentinel does not know all others, or the master is not well: " + state["flags"])
	}
	address := "127.0.0.1:" + state["port"]
	for _, r := range replicas {
		if r["flags"] != "slave" || r["master-link-status"] != "ok" || r["master-port"] != state["port"] {
			return nil, fmt.Errorf("testenv: replica %s is %s, its link %s", r["name"], r["flags"], r["master-link-status"])
		}
	}
	i := slices.IndexFunc(s.Servers, func(r *Redis) bool { return r.Addr == address })
	if i < 0 {
		return nil, errors.New("testenv: the Sentinels have an unknown master " + address)
	}
	return s.Servers[i], nil
}

// HandOver has the Sentinels promote a replica of a master that is well.
func (s *Sentinels) HandOver(ctx context.Context) error {
	client := redis.NewSentinelClient(&redis.Options{Addr: s.Addresses[0], DisableIdentity: true})
	defer client.Close()
	return client.Failover(ctx, s.Master).Err()
}

// Stop ends all of them.
func (s *Sentinels) Stop() {
	for _, p := range s.processes {
		p.kill()
	}
	for _, r := range s.Servers {
		r.Kill()
	}
}
