package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Sentinels are a master, its replicas, and the Sentinels that watch them.
type Sentinels struct {
	Master    string   // its name
	Addresses []string // of the Sentinels
	Servers   []*Redis // the first one is the initial master
	processes []*process
	replicas  int
}

// sentinelConf configures a Sentinel that detects a dead master after 500 ms.
const sentinelConf = `port %d
bind 127.0.0.1
bind-source-addr %s
dir %s
sentinel announce-ip 127.0.0.1
sentinel monitor fanfold 127.0.0.1 %s 2
sentinel down-after-milliseconds fanfold 500
sentinel failover-timeout fanfold 3000
`

// StartSentinels starts a master with replicas and three Sentinels, with files in dir, and waits
// until the Sentinels know all of them. If n is nil, the servers connect directly, otherwise
// through it. The settings are those of StartRedis.
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
		var follow []string // the Sentinels configure a master that returns
		if i > 0 {
			follow = []string{"--replicaof", "127.0.0.1", s.Servers[0].relayPort()}
		}
		if err := r.Start(ctx, follow...); err != nil {
			return err
		}
		s.Servers = append(s.Servers, r)
	}
	for i := range 3 {
		port, err := FreePort()
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
		if err := os.WriteFile(file, fmt.Appendf(nil, sentinelConf, port, source, folder, s.Servers[0].relayPort()),
			0o600); err != nil {
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

// Settled waits until all Sentinels know each other and all servers and name the same master, and
// all other servers are its replicas and up to date. It returns the master.
func (s *Sentinels) Settled(ctx context.Context) (master *Redis, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err = s.processes[0].await(ctx, func(ctx context.Context) error {
		var err error
		master, err = s.settled(ctx)
		return err
	})
	return master, err
}

func (s *Sentinels) settled(ctx context.Context) (*Redis, error) {
	port := ""
	for _, address := range s.Addresses {
		client := redis.NewSentinelClient(&redis.Options{Addr: address, DisableIdentity: true})
		state, err := client.Master(ctx, s.Master).Result()
		_ = client.Close()
		if err != nil {
			return nil, err
		}
		if state["flags"] != "master" || state["num-other-sentinels"] != strconv.Itoa(len(s.Addresses)-1) ||
			state["num-slaves"] != strconv.Itoa(s.replicas) || port != "" && port != state["port"] {
			return nil, fmt.Errorf("testenv: the Sentinels know different servers, or the master is unhealthy: %v",
				state)
		}
		port = state["port"]
	}
	var master *Redis
	for _, r := range s.Servers {
		client := r.Client()
		info, err := client.InfoMap(ctx, "replication").Result()
		_ = client.Close()
		if err != nil {
			return nil, err
		}
		of := info["Replication"]
		switch {
		case r.relayPort() == port && of["role"] == "master":
			master = r
		case of["role"] != "slave" || of["master_port"] != port || of["master_link_status"] != "up":
			return nil, fmt.Errorf("testenv: %s is no replica of port %s yet: %v", r.Addr, port, of)
		}
	}
	if master == nil {
		return nil, errors.New("testenv: no server is the master that the Sentinels name")
	}
	return master, nil
}

// HandOver promotes a replica of a healthy master. The Sentinels may refuse for some seconds after
// a failover, so it retries.
func (s *Sentinels) HandOver(ctx context.Context) error {
	client := redis.NewSentinelClient(&redis.Options{Addr: s.Addresses[0], DisableIdentity: true})
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return s.processes[0].await(ctx, func(ctx context.Context) error { return client.Failover(ctx, s.Master).Err() })
}

// Stop kills all of them.
func (s *Sentinels) Stop() {
	for _, p := range s.processes {
		p.kill()
	}
	for _, r := range s.Servers {
		r.Kill()
	}
}
