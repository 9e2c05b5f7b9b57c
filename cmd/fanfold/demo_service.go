package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// demoService is a service of another team in `fanfold demo --full`: it reads the
// stream of its listener and answers with plain XADD, as one in any language does. It
// knows nothing of Fanfold but docs/external.md.
type demoService struct{ redis *redis.Client }

const demoServiceListener = "crm.teams"

// run works until ctx ends.
func (s demoService) run(ctx context.Context) error {
	for {
		streams, err := s.redis.XReadGroup(ctx, &redis.XReadGroupArgs{
			Group: "fanfold", Consumer: "crm-1", Streams: []string{"fanfold:task:" + demoServiceListener, ">"},
			Count: 1, Block: time.Second,
		}).Result()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, redis.Nil):
			continue
		case redis.HasErrorPrefix(err, "NOGROUP"): // Fanfold makes it when it starts
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
			continue
		case err != nil:
			return fmt.Errorf("crm: %w", err)
		}
		for _, task := range streams[0].Messages {
			if err := s.answer(ctx, task); err != nil {
				return fmt.Errorf("crm: %w", err)
			}
		}
	}
}

// answer says which team looks after each user.
func (s demoService) answer(ctx context.Context, task redis.XMessage) error {
	worker := rand.Text()
	say := func(kind string, fields ...any) error {
		return s.redis.XAdd(ctx, &redis.XAddArgs{Stream: "fanfold:reply", Values: append([]any{
			"id", task.Values["id"], "attempt", task.Values["attempt"], "listener", demoServiceListener,
			"entry", task.ID, "consumer", "crm-1", "worker", worker, "type", kind,
		}, fields...)}).Err()
	}
	const chunk, users = 5_000, 20_000
	teams := []string{"north", "south", "east", "west"}
	number := 0
	for from := 1; from <= users; from += chunk {
		var rows [][]any
		for user := from; user < from+chunk; user++ {
			rows = append(rows, []any{user, teams[user%len(teams)]})
		}
		text, err := json.Marshal(rows)
		if err != nil {
			return err
		}
		if err := say("rows", "number", number, "rows", text); err != nil {
			return err
		}
		number++
	}
	return say("done", "chunks", number)
}
