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
	Servers   []*Redis // the first one is the master at the start
	processes []*process
}

// sentinelConf makes a Sentinel that notices a dead master after 500 ms.
const sentinelConf = `port %d
bind 127.0.0.1
dir %s
sentinel monitor fanfold 127.0.0.1 %d 2
sentinel down-after-milliseconds fanfold 500
sentinel failover-timeout fanfold 3000
`

// StartSentinels starts a master with replicas and three Sentinels, whose files are in dir, and
// waits until the Sentinels know all of them.
func StartSentinels(ctx context.Context, dir string, replicas int) (*Sentinels, error) {
	s := &Sentinels{Master: "fanfold"}
	if err := s.start(ctx, dir, replicas); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func (s *Sentinels) start(ctx context.Context, dir string, replicas int) error {
	for i := range replicas + 1 {
		folder := filepath.Join(dir, fmt.Sprint("server-", i))
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		var extra []string
		if i > 0 {
			extra = []string{"--replicaof", "127.0.0.1", strconv.Itoa(s.Servers[0].port)}
		}
		r, err := StartRedis(ctx, folder, extra...)
		if err != nil {
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
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, fmt.Appendf(nil, sentinelConf, port, folder, s.Servers[0].port), 0o600); err != nil {
			return err
		}
		p, err := startProcess("redis-server", file, "--sentinel")
		if err != nil {
			return err
		}
		s.processes, s.Addresses = append(s.processes, p), append(s.Addresses, "127.0.0.1:"+strconv.Itoa(port))
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for i, address := range s.Addresses {
		client := redis.NewSentinelClient(&redis.Options{Addr: address, DisableIdentity: true})
		err := s.processes[i].await(ctx, func(ctx context.Context) error {
			known, err := client.Sentinels(ctx, s.Master).Result()
			if err != nil {
				return err
			}
			others, err := client.Replicas(ctx, s.Master).Result()
			if err == nil && (len(known) < 2 || len(others) < replicas) {
				err = errors.New("testenv: a Sentinel does not know all others yet")
			}
			return err
		})
		_ = client.Close()
		if err != nil {
			return err
		}
	}
	return nil
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
