package scripts

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestBatchesAnswerEachCall: calls of one script that come at the same time are one
// for Redis. Each gets its own answer, and the error of one is nobody else's.
func TestBatchesAnswerEachCall(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t, false)
	ctx := t.Context()
	const jobs = 3 * batchCalls
	client.Set(ctx, s.State("5"), "of another type", 0)
	atOnce(t, s, jobs, func(id string) error {
		outcome, err := s.Start(ctx, Start{ID: id, Attempt: 1, Report: "r", Definition: "d", Timeout: time.Hour, Listeners: []string{"l"}})
		if id == "5" {
			if !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), "WRONGTYPE") {
				return fmt.Errorf("the broken one: %v %w", outcome, err)
			}
			return nil
		}
		if outcome != OK {
			return fmt.Errorf("%v %w", outcome, err)
		}
		return err
	})
	if n := client.XLen(ctx, s.Task("l")).Val(); n != jobs-1 {
		t.Errorf("%d tasks of %d jobs", n, jobs-1)
	}
	// Answers that are more than a number, and one that is an error of the script.
	atOnce(t, s, jobs, func(id string) error {
		if id == "5" {
			return nil
		}
		task := Task{ID: id, Attempt: 1, Listener: "l", Owner: "o-" + id, Lease: time.Minute}
		outcome, taken, err := s.Take(ctx, task, []string{"d"})
		if err != nil || outcome != OK || taken.Report != "r" || taken.Tries != 1 {
			return fmt.Errorf("take: %v %+v %w", outcome, taken, err)
		}
		chunk := Chunk{Rows: 1, Names: []string{"c"}, Columns: []string{}, Fields: [][]byte{[]byte("[" + id + "]")}}
		if id == "7" {
			chunk.Number = 3
			if outcome, err := s.Complete(ctx, task, chunk, 0); !errors.Is(err, ErrChunk) {
				return fmt.Errorf("complete without chunks: %v %w", outcome, err)
			}
			return nil
		}
		if outcome, err := s.Complete(ctx, task, chunk, 0); err != nil || outcome != Already {
			return fmt.Errorf("complete: %v %w", outcome, err)
		}
		outcome, state, err := s.Claim(ctx, Claim{ID: id, Attempt: 1, Stage: 1, Worker: "w-" + id, Lease: time.Minute, Known: []string{"d"}, Bytes: 10})
		if err != nil || outcome != OK || state.Worker != "w-"+id {
			return fmt.Errorf("claim: %v %+v %w", outcome, state, err)
		}
		fields, err := s.Claimed(ctx, state, "l", []string{"c"}, 0)
		if err != nil || string(fields[0]) != "["+id+"]" {
			return fmt.Errorf("data: %q %w", fields, err)
		}
		return nil
	})
}

// TestCallsThatComeTogetherAreOne, if each is all that its caller waits for.
func TestCallsThatComeTogetherAreOne(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	ack := func(args int) redis.Cmder {
		return ackScript.call(ctx, []string{"s"}, make([]any, args)...)
	}
	with := func(what string) []redis.Cmder {
		return []redis.Cmder{publishScript.call(ctx, []string{"s"})}
	}
	var calls []*waiting
	for range 2*batchCalls + 1 {
		calls = append(calls, &waiting{cmds: []redis.Cmder{ack(2)}})
	}
	calls = append(calls,
		&waiting{cmds: []redis.Cmder{ack(2), ack(2)}}, &waiting{cmds: []redis.Cmder{ack(batchArgs)}},
		&waiting{cmds: []redis.Cmder{redis.NewIntCmd(ctx, "zcard", "z")}},
		&waiting{cmds: with("a")}, &waiting{cmds: with("b")}, &waiting{cmds: with("a")})
	batches, cmds := merge(calls)
	var of []int
	for _, b := range batches {
		of = append(of, len(b.of))
	}
	if want := []int{batchCalls, batchCalls, 2, 2, 1}; !slices.Equal(of, want) || len(cmds) != 3 {
		t.Errorf("batches of %d calls instead of %d, and %d other commands", of, want, len(cmds))
	}
}

// atOnce calls f for many ids at the same time: the first round trip is held until
// all of them are queued.
func atOnce(t testing.TB, s *Scripts, n int, f func(id string) error) {
	t.Helper()
	s.pipe.mu.Lock()
	s.pipe.running += pipelineDepth
	s.pipe.mu.Unlock()
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() {
			if err := f(fmt.Sprint(i)); err != nil {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	queued := func() int {
		s.pipe.mu.Lock()
		defer s.pipe.mu.Unlock()
		return len(s.pipe.queue)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for queued() < n-1 { // one of them may have nothing to call
		<-tick.C
	}
	s.pipe.mu.Lock()
	s.pipe.running -= pipelineDepth
	for range pipelineDepth {
		s.pipe.running++
		go s.pipe.drain()
	}
	s.pipe.mu.Unlock()
	calls.Wait()
}

// TestManyColumns: as many as a result of MySQL can have.
func TestManyColumns(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t, false)
	started(t, s, "1", time.Hour, false)
	task := Task{ID: "1", Attempt: 1, Listener: "l", Owner: "o", Lease: time.Minute}
	if outcome, _, err := s.Take(t.Context(), task, []string{"d"}); err != nil || outcome != OK {
		t.Fatal(outcome, err)
	}
	chunk := Chunk{Rows: 1, Columns: []string{}}
	for i := range 4096 {
		chunk.Names, chunk.Fields = append(chunk.Names, fmt.Sprint("c", i)), append(chunk.Fields, []byte("[1]"))
	}
	if outcome, err := s.Complete(t.Context(), task, chunk, 0); err != nil || outcome != Already {
		t.Fatal(outcome, err)
	}
	if n := client.HLen(t.Context(), s.Data("1")).Val(); n != 4096+2 {
		t.Errorf("%d fields", n)
	}
}

// TestTheLastScriptAcknowledges: no other call is needed for the entry, and the
// answer of one that was lost is the same the second time.
func TestTheLastScriptAcknowledges(t *testing.T) {
	t.Parallel()
	for _, split := range []bool{false, true} {
		t.Run(fmt.Sprint("split=", split), func(t *testing.T) {
			t.Parallel()
			s, client := newScripts(t, split)
			ctx := t.Context()
			// read gives the entry of a stream to a consumer.
			read := func(stream string) Entry {
				t.Helper()
				if err := client.XGroupCreate(ctx, stream, Group, "0").Err(); err != nil {
					t.Fatal(err)
				}
				found, err := client.XReadGroup(ctx, &redis.XReadGroupArgs{Group: Group, Consumer: "c", Streams: []string{stream, ">"}}).Result()
				if err != nil || len(found[0].Messages) != 1 {
					t.Fatal(found, err)
				}
				return Entry{Stream: stream, Group: Group, Consumer: "c", ID: found[0].Messages[0].ID}
			}
			acknowledged := func(e Entry) {
				t.Helper()
				if n, p := client.XLen(ctx, e.Stream).Val(), client.XPending(ctx, e.Stream, Group).Val().Count; n != 0 || p != 0 {
					t.Errorf("%s has %d entries, %d pending", e.Stream, n, p)
				}
			}
			started(t, s, "1", time.Hour, false)
			task := Task{ID: "1", Attempt: 1, Listener: "l", Owner: "o", Lease: time.Minute, Entry: read(s.Task("l"))}
			if outcome, _, err := s.Take(ctx, task, []string{"d"}); err != nil || outcome != OK {
				t.Fatal(outcome, err)
			}
			chunk := Chunk{Rows: 1, Names: []string{"c"}, Columns: []string{}, Fields: [][]byte{[]byte("[1]")}}
			for range 2 {
				if outcome, err := s.Complete(ctx, task, chunk, 0); err != nil || outcome != Already {
					t.Fatal(outcome, err)
				}
				acknowledged(task.Entry)
			}
			if split {
				client.XTrimMaxLen(ctx, s.FanIn(), 1) // the second call has sent it again
			}
			entry := read(s.FanIn())
			_, state, err := s.Claim(ctx, Claim{ID: "1", Attempt: 1, Stage: 1, Worker: "w", Lease: time.Minute, Known: []string{"d"}})
			if err != nil || state == nil {
				t.Fatal(state, err)
			}
			state.Entry = entry
			if outcome, err := s.Settle(ctx, state, "FAILED", "x"); err != nil || outcome != OK {
				t.Fatal(outcome, err)
			}
			if left := state.Entry.ID != ""; left != split {
				t.Errorf("it is left to the caller: %v", left)
			}
			if !split { // where the scripts cannot, the caller does
				acknowledged(entry)
			}
		})
	}
}

// TestALargeLastChunkIsRepeated: in a cluster the message about it may not have been
// sent, and the call that is repeated for that sends it.
func TestALargeLastChunkIsRepeated(t *testing.T) {
	t.Parallel()
	for _, split := range []bool{false, true} {
		s, client := newScripts(t, split)
		started(t, s, "1", time.Hour, false)
		task := Task{ID: "1", Attempt: 1, Listener: "l", Owner: "o", Lease: time.Minute}
		if outcome, _, err := s.Take(t.Context(), task, []string{"d"}); err != nil || outcome != OK {
			t.Fatal(outcome, err)
		}
		chunk := Chunk{Rows: 1, Names: []string{"c"}, Columns: []string{}, Fields: [][]byte{[]byte(`["` + strings.Repeat("x", sharedBytes) + `"]`)}}
		for call := range 2 {
			if outcome, err := s.Complete(t.Context(), task, chunk, 0); err != nil || outcome != Already {
				t.Errorf("split=%v, call %d: %v %v", split, call, outcome, err)
			}
			if n := client.XLen(t.Context(), s.FanIn()).Val(); n == 0 {
				t.Errorf("split=%v, call %d: no message", split, call)
			}
			if split {
				client.Del(t.Context(), s.FanIn())
			}
		}
	}
}
