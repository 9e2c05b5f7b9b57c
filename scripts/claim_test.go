package scripts

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestAClaimBringsSmallData, and the state as it has made it, also where Redis did
// not know the script. It is not parallel: others make Redis forget scripts, too.
func TestAClaimBringsSmallData(t *testing.T) {
	s, client := newScripts(t, false)
	ctx := t.Context()
	started(t, s, "1", time.Hour, false)
	task := Task{ID: "1", Attempt: 1, Listener: "l", Owner: "o", Lease: time.Minute}
	if outcome, _, err := s.Take(ctx, task, []string{"d"}); err != nil || outcome != OK {
		t.Fatal(outcome, err)
	}
	chunk := Chunk{Rows: 1, Names: []string{"c"}, Columns: []string{}, Fields: [][]byte{[]byte("[1]")}}
	if outcome, err := s.Complete(ctx, task, chunk, 0); err != nil || outcome != Already {
		t.Fatal(outcome, err)
	}
	for i, tc := range []struct {
		bytes       int64
		known, data bool // Redis knows the script; the data comes along
	}{{0, true, false}, {3, true, true}, {sharedBytes, true, true}, {sharedBytes + 1, true, false}, {3, false, true}} {
		if !tc.known {
			client.ScriptFlush(ctx)
		}
		claim := Claim{ID: "1", Attempt: 1, Worker: fmt.Sprint("w", i), Lease: -time.Minute, Known: []string{"d"}, Bytes: tc.bytes}
		outcome, state, err := s.Claim(ctx, claim)
		if err != nil || outcome != OK {
			t.Fatal(i, outcome, err)
		}
		if state.Fence != int64(i+1) || state.Worker != claim.Worker || state.Status != StatusFold || tc.known && (state.data != nil) != tc.data {
			t.Errorf("%+v: %+v", tc, state)
		}
		if fields, err := s.Claimed(ctx, state, "l", []string{"c"}, 0); err != nil || string(fields[0]) != "[1]" {
			t.Errorf("%q %v", fields, err)
		}
	}
}

// between is a hook that does something behind the first command of a pipeline.
type between struct{ act func() }

func (b between) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (b between) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (b between) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if len(cmds) < 2 {
			return next(ctx, cmds)
		}
		if err := next(ctx, cmds[:1]); err != nil {
			return err
		}
		b.act()
		return next(ctx, cmds[1:])
	}
}

// TestAClaimIsOfItsAttempt: what is read behind the script may be of a later one,
// whose fence counts from 0 again.
func TestAClaimIsOfItsAttempt(t *testing.T) {
	t.Parallel()
	for _, claimed := range []bool{false, true} {
		s, client := newScripts(t, false)
		ctx := t.Context()
		started(t, s, "1", time.Hour, true)
		slow := redis.NewClient(client.Options())
		defer slow.Close()
		slow.AddHook(between{func() {
			next := Start{ID: "1", Attempt: 2, Report: "r", Definition: "d", Parameters: []byte("{}"), Timeout: time.Hour, Listeners: []string{"l"}}
			if outcome, err := s.Start(ctx, next); err != nil || outcome != OK {
				t.Error(outcome, err)
			}
			if !claimed {
				return
			}
			task := Task{ID: "1", Attempt: 2, Listener: "l", Owner: "o2", Lease: time.Minute}
			if outcome, _, err := s.Take(ctx, task, []string{"d"}); err != nil || outcome != OK {
				t.Error(outcome, err)
			}
			chunk := Chunk{Rows: 1, Names: []string{"c"}, Columns: []string{}, Fields: [][]byte{[]byte("[2]")}}
			if outcome, err := s.Complete(ctx, task, chunk, 0); err != nil || outcome != Already {
				t.Error(outcome, err)
			}
			if outcome, _, err := s.Claim(ctx, Claim{ID: "1", Attempt: 2, Worker: "w2", Lease: time.Minute, Known: []string{"d"}}); err != nil || outcome != OK {
				t.Error(outcome, err)
			}
		}})
		late := New(Options{Redis: slow, Keys: s.Keys})
		outcome, state, err := late.Claim(ctx, Claim{ID: "1", Attempt: 1, Worker: "w1", Lease: time.Minute, Known: []string{"d"}, Bytes: 3})
		if err != nil || outcome != Gone || state != nil {
			t.Errorf("the attempt after it is claimed: %v; its own: %v %+v %v", claimed, outcome, state, err)
		}
	}
}
