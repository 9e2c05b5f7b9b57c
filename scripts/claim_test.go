package scripts

import (
	"fmt"
	"testing"
	"time"
)

// TestAClaimBringsSmallData, and the state as it has made it, also where Redis did
// not know the script.
func TestAClaimBringsSmallData(t *testing.T) {
	t.Parallel()
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
			client.ScriptFlush(ctx) // other tests know how to help themselves, too
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
