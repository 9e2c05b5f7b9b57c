package scripts

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestMoveAndRefuse: each member is moved or refused once.
func TestMoveAndRefuse(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	now := float64(time.Now().UnixMilli())
	if err := client.ZAdd(ctx, s.Keys.Delayed,
		redis.Z{Member: "1", Score: now - 2000.5}, redis.Z{Member: "bad one", Score: now},
		redis.Z{Member: "2", Score: math.Inf(1)}, redis.Z{Member: "3", Score: math.Inf(-1)},
	).Err(); err != nil {
		t.Fatal(err)
	}
	due, err := s.Clock.Due(ctx, 10, 0)
	if err != nil || fmt.Sprint(due.Members) != "[1 bad one]" || len(due.Invalid) != 2 || due.Invalid[0].Member != "3" || due.Invalid[1].Member != "2" || due.Wait >= 0 {
		t.Fatalf("%+v %v", due, err)
	}
	// Meanwhile one of them is given a time.
	if err := client.ZAdd(ctx, s.Keys.Delayed, redis.Z{Member: "2", Score: now + 3_600_000}).Err(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{1, 0} {
		if n, err := s.Clock.Refuse(ctx, []Refusal{{"3", "no time"}, {"2", "no time"}}, true); err != nil || n != want {
			t.Errorf("refused %d, %v", n, err)
		}
		if n, err := s.Clock.Refuse(ctx, []Refusal{{"bad one", "no member"}}, false); err != nil || n != want {
			t.Errorf("refused %d, %v", n, err)
		}
		late, _, err := s.Clock.Move(ctx, s.Keys.Task("l"), "", []Move{{Member: "1", ID: "1", Field: "attempt", Value: "4"}})
		if err != nil || len(late) != int(want) || i == 0 && (late[0] < 2*time.Second || late[0] > time.Minute) {
			t.Errorf("moved %v, %v", late, err)
		}
	}
	if due, err := s.Clock.Due(ctx, 10, 0); err != nil || len(due.Members)+len(due.Invalid) != 0 || due.Wait < 59*time.Minute {
		t.Errorf("%+v %v", due, err)
	}
	if moved := client.XRange(ctx, s.Keys.Task("l"), "-", "+").Val(); len(moved) != 1 || fmt.Sprint(moved[0].Values) != "map[attempt:4 id:1]" {
		t.Errorf("%+v", moved)
	}
	quarantined := client.XRange(ctx, s.Keys.Quarantined, "-", "+").Val()
	if len(quarantined) != 2 || fmt.Sprint(quarantined[1].Values) != "map[entry: fields:member=\"bad one\" reason:no member stream:"+s.Keys.Delayed+"]" {
		t.Errorf("%+v", quarantined)
	}
}

func TestTouchEndsWhatIsOver(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	if err := s.Clock.SetCanary(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	client.Set(ctx, s.Keys.Epoch, "", 0)
	for range 1000 {
		if exists, err := s.Clock.Touch(ctx, s.Keys.Epoch); err != nil || !exists {
			t.Fatal("a key without a TTL has ended", err)
		}
		if exists, err := s.Clock.Touch(ctx, s.Keys.Canary("a")); err != nil {
			t.Fatal(err)
		} else if !exists {
			return
		}
	}
	t.Error("the canary does not end")
}
