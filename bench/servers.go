package main

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/report"
)

// servers are what the systems run on.
type servers struct {
	redis      *testenv.Redis
	cluster    *testenv.Cluster  // in its place
	partitions int               // 0: one
	rabbit     *testenv.RabbitMQ // nil where it is left out
}

// at is where Fanfold finds its Redis.
func (s servers) at() report.Redis {
	r := report.Redis{Partitions: s.partitions}
	if s.cluster != nil {
		r.Cluster = s.cluster.Addresses()
	} else {
		r.URL = report.Secret(s.redis.URL())
	}
	return r
}

// client returns a new client, which the caller closes.
func (s servers) client() redis.UniversalClient {
	if s.cluster != nil {
		return s.cluster.Client()
	}
	return s.redis.Client()
}

// nodes are all Redis servers.
func (s servers) nodes() []*testenv.Redis {
	if s.cluster != nil {
		return s.cluster.Servers
	}
	return []*testenv.Redis{s.redis}
}

// used is the CPU time that each Redis has used since it began, in s.
func (s servers) used(ctx context.Context) (all []float64, err error) {
	for _, n := range s.nodes() {
		client := n.Client()
		u, err := readUsage(ctx, client)
		_ = client.Close()
		if err != nil {
			return nil, err
		}
		all = append(all, u.cpu)
	}
	return all, nil
}

func startServers(ctx context.Context, list []system, dir string) (s servers, err error) {
	if s.redis, err = testenv.StartRedis(ctx, mkdir(dir, "redis")); err != nil {
		return s, err
	}
	for _, x := range list {
		if x.name == "RabbitMQ" {
			if s.rabbit, err = testenv.StartRabbitMQ(ctx, mkdir(dir, "rabbitmq")); err != nil {
				s.stop()
				return s, err
			}
		}
	}
	return s, nil
}

func (s servers) stop() {
	s.redis.Stop()
	if s.rabbit != nil {
		s.rabbit.Stop()
	}
}

// empty removes everything from Redis.
func (s servers) empty(ctx context.Context) error {
	for _, n := range s.nodes() {
		client := n.Client()
		err := client.FlushAll(ctx).Err() // the server is this program's own
		_ = client.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
