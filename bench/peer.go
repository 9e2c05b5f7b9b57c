package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// peer is a system that does the unit of work: each id that is pushed is fanned
// out to listeners; each of them writes the numbers from 0 to 99, as JSON, into
// the job's hash in Redis; when all have, one fold reads the hash and removes it.
type peer interface {
	// push hands ids over as a service would, and returns when they are safe.
	push(ctx context.Context, ids []string) error
	// run works until ctx ends, and tells what happens from any goroutine.
	run(ctx context.Context, tell told) error
	// hash is the key in Redis where a job's numbers meet.
	hash(id string) string
	close()
}

// delayer is a peer that can start a job later.
type delayer interface {
	peer
	pushAt(ctx context.Context, id string, at time.Time) error
}

// told is what a peer tells of its jobs.
type told struct {
	started func(id string)            // a listener has got the job; nil: nobody wants to know
	folded  func(id string, err error) // all of its numbers were read, or err says what was wrong
}

// system is a kind of peer.
type system struct {
	name string
	// missing says what it needs and is not there; nil: it needs nothing.
	missing func(ctx context.Context) error
	// start makes a peer with that many listeners on an empty Redis.
	start func(ctx context.Context, s servers, listeners int) (peer, error)
}

// systems in the order in which they take turns. What is divided by is the first.
var systems = []system{
	{"fanfold", nil, startFanfold},
	{"asynq", nil, startAsynq},
	{"RabbitMQ", missingRabbitMQ, startRabbitMQ},
	{"BullMQ", missingBullMQ, startBullMQ},
	{bareStreams, nil, startStreams},
}

// choose returns the systems that were asked for and can run here.
func choose(ctx context.Context, only string, r *results) ([]system, error) {
	wanted := map[string]bool{}
	if only != "" {
		for name := range strings.SplitSeq(only, ",") {
			wanted[name] = true
		}
	}
	var list []system
	for _, s := range systems {
		name, _, _ := strings.Cut(s.name, ",")
		if only != "" && !wanted[name] {
			continue
		}
		delete(wanted, name)
		if s.missing != nil {
			if err := s.missing(ctx); err != nil {
				r.note("%s is left out: %v", s.name, err)
				continue
			}
		}
		list = append(list, s)
	}
	for name := range wanted { // what is left
		return nil, fmt.Errorf("-systems: there is no %q", name)
	}
	return list, nil
}
