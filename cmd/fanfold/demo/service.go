package demo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Service is the service of another team in fanfold demo --full. It reads the stream of its listener
// and answers with plain XADD, as a service in any language does. It uses only what
// docs/guides/external-listeners.md describes.
type Service struct{ Redis redis.UniversalClient }

// ServiceListener is the listener of the service.
const ServiceListener = "crm.teams"

// Run works until ctx ends.
func (s Service) Run(ctx context.Context) error {
	for {
		streams, err := s.Redis.XReadGroup(ctx, &redis.XReadGroupArgs{
			Group: "fanfold", Consumer: "crm-1", Streams: []string{"fanfold:task:" + ServiceListener, ">"},
			Count: 1, Block: time.Second,
		}).Result()
		if err == nil {
			err = s.answer(ctx, streams[0].Messages[0])
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case redis.HasErrorPrefix(err, "NOGROUP"): // Fanfold creates the group when it starts
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		case err != nil && !errors.Is(err, redis.Nil):
			return fmt.Errorf("crm: %w", err)
		}
	}
}

// answer sends the team of every user.
func (s Service) answer(ctx context.Context, task redis.XMessage) error {
	worker := rand.Text()
	say := func(kind string, fields ...any) error {
		return s.Redis.XAdd(ctx, &redis.XAddArgs{Stream: "fanfold:reply", Values: append([]any{
			"id", task.Values["id"], "attempt", task.Values["attempt"], "listener", ServiceListener,
			"entry", task.ID, "consumer", "crm-1", "worker", worker, "type", kind,
		}, fields...)}).Err()
	}
	const chunks, users = 4, 5_000 // per chunk
	teams := []string{"north", "south", "east", "west"}
	for number := range chunks {
		var rows [][]any
		for i := range users {
			user := number*users + i + 1
			rows = append(rows, []any{user, teams[user%len(teams)]})
		}
		text, err := json.Marshal(rows)
		if err != nil {
			return err
		}
		if err := say("rows", "number", number, "rows", text); err != nil {
			return err
		}
	}
	return say("done", "chunks", chunks)
}
