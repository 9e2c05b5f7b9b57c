package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// demoVendor is the slow third-party API of `fanfold demo --full`: it takes ids of
// users, says for a while that it works on them, and gives their scores in pages.
type demoVendor struct {
	mu      sync.Mutex
	exports []*demoExport // the id of one is its index
}

// demoExport is one order.
type demoExport struct {
	key   string  // Idempotency-Key
	Users []int64 `json:"users"`
	polls int     // how often it was asked whether it is done
}

const (
	demoToken = "demo-token" // what the vendor wants to see; no secret
	demoPolls = 3            // as often it says "running"
	demoPage  = 500          // rows
)

// startDemoVendor starts a vendor on a free port of the loopback interface.
func startDemoVendor() (url string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	v, mux := &demoVendor{}, http.NewServeMux()
	mux.HandleFunc("POST /v1/exports", v.answer(v.order))
	mux.HandleFunc("GET /v1/exports/{id}", v.answer(v.state))
	mux.HandleFunc("GET /v1/exports/{id}/scores", v.answer(v.scores))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(listener)
	return "http://" + listener.Addr().String() + "/v1", func() { _ = server.Close() }, nil
}

// answer answers requests with a token, one at a time.
func (v *demoVendor) answer(body func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+demoToken {
			http.Error(w, `{"message": "who are you?"}`, http.StatusUnauthorized)
			return
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		answer, err := body(r)
		if err != nil {
			http.Error(w, fmt.Sprintf(`{"message": %q}`, err), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}
}

// order takes an order, once for each key.
func (v *demoVendor) order(r *http.Request) (any, error) {
	e := &demoExport{key: r.Header.Get("Idempotency-Key")}
	if err := json.NewDecoder(r.Body).Decode(e); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(v.exports, func(before *demoExport) bool { return before.key == e.key })
	if i < 0 {
		i, v.exports = len(v.exports), append(v.exports, e)
	}
	return map[string]any{"id": strconv.Itoa(i)}, nil
}

func (v *demoVendor) export(r *http.Request) (*demoExport, error) {
	n, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || n < 0 || n >= len(v.exports) {
		return nil, errors.New("no such export")
	}
	return v.exports[n], nil
}

// state says how far an order is.
func (v *demoVendor) state(r *http.Request) (any, error) {
	e, err := v.export(r)
	if err != nil {
		return nil, err
	}
	if e.polls++; e.polls <= demoPolls {
		return map[string]any{"state": "running", "percent": 100 * e.polls / (demoPolls + 1)}, nil
	}
	return map[string]any{"state": "done"}, nil
}

// scores gives a page of an order's rows, and where the next one begins.
func (v *demoVendor) scores(r *http.Request) (any, error) {
	e, err := v.export(r)
	if err != nil {
		return nil, err
	}
	from, err := strconv.Atoi(cmp.Or(r.URL.Query().Get("cursor"), "0"))
	if err != nil || from < 0 || from > len(e.Users) || e.polls <= demoPolls {
		return nil, errors.New("no such page")
	}
	to := min(from+demoPage, len(e.Users))
	rows := []any{}
	for _, user := range e.Users[from:to] {
		rows = append(rows, map[string]any{"user": map[string]any{"id": user}, "score": json.Number(fmt.Sprintf("0.%02d", user*37%100))})
	}
	page := map[string]any{"scores": rows, "next": nil}
	if to < len(e.Users) {
		page["next"] = strconv.Itoa(to)
	}
	return page, nil
}

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
		if err == nil {
			err = s.answer(ctx, streams[0].Messages[0])
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case redis.HasErrorPrefix(err, "NOGROUP"): // Fanfold makes it when it starts
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		case err != nil && !errors.Is(err, redis.Nil):
			return fmt.Errorf("crm: %w", err)
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
	const chunks, users = 4, 5_000 // of each chunk
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
