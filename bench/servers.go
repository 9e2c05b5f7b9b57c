package main

import (
	"context"

	"github.com/fanfold/fanfold/internal/testenv"
)

// servers are what the systems run on.
type servers struct {
	redis  *testenv.Redis
	rabbit *testenv.RabbitMQ // nil where it is left out
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
	client := s.redis.Client()
	defer client.Close()
	return client.FlushAll(ctx).Err() // the server is this program's own
}
