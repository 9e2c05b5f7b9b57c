package scheduler

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/scripts"
)

func TestMain(m *testing.M) { testmain.Main(m) }

func setup(t *testing.T) (*Scheduler, *scripts.Scripts, *redis.Client) {
	t.Helper()
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	name := testmain.Name(t)
	s := scripts.New(scripts.Options{Redis: client, Keys: scripts.Keys{Prefix: name + ":", Hash: name + "-"}})
	scheduler, err := New(Options{Scripts: s})
	if err != nil {
		t.Fatal(err)
	}
	return scheduler, s, client
}

func TestMoveDueSendsEachMemberWhereItBelongs(t *testing.T) {
	t.Parallel()
	scheduler, s, client := setup(t)
	ctx := t.Context()
	for _, member := range []string{"1", "2/1/" + scripts.StepTrigger, "3/4/" + scripts.StepFanIn, "4/2/" + scripts.StepRecord, "5/6/some.listener", "{bad}", "7/8"} {
		if err := s.Delay(ctx, member, -time.Second); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delay(ctx, "9", 30*time.Minute); err != nil {
		t.Fatal(err)
	}
	if wait, err := scheduler.moveDue(ctx); err != nil || wait != 0 {
		t.Fatalf("%v %v", wait, err)
	}
	for stream, want := range map[string][]string{
		s.Jobs(): {"1", "2"}, s.FanIn(): {"3", "4"}, s.Task("some.listener"): {"5"},
	} {
		entries := client.XRange(ctx, stream, "-", "+").Val()
		if len(entries) != len(want) {
			t.Errorf("%s: %+v", stream, entries)
			continue
		}
		for i, e := range entries {
			if e.Values["id"] != want[i] {
				t.Errorf("%s: %+v", stream, entries)
			}
		}
	}
	if n := client.XLen(ctx, s.Quarantined()).Val(); n != 2 {
		t.Errorf("%d members in quarantine, not 2", n)
	}
	if wait, err := scheduler.moveDue(ctx); err != nil || wait < 29*time.Minute {
		t.Errorf("%v %v", wait, err)
	}
	if left := client.ZRange(ctx, s.Delayed(), 0, -1).Val(); len(left) != 1 || left[0] != "9" {
		t.Errorf("left: %v", left)
	}
}

func TestFailOverdue(t *testing.T) {
	t.Parallel()
	scheduler, s, client := setup(t)
	ctx := t.Context()
	start := func(id string, timeout time.Duration) {
		t.Helper()
		if _, err := s.Start(ctx, scripts.Start{ID: id, Attempt: 1, Report: "r", Definition: "d", Timeout: timeout, Listeners: []string{"l"}}); err != nil {
			t.Fatal(err)
		}
	}
	start("late", -time.Second)
	start("early", time.Hour)
	start("lost", -time.Second)
	if err := client.Del(ctx, s.State("lost")).Err(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := scheduler.failOverdue(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, statuses, err := s.Attempts(ctx, []string{"late", "early"}); err != nil || statuses[0] != "FAILING" || statuses[1] != "RUN" {
		t.Errorf("%v %v", statuses, err)
	}
	if n := client.XLen(ctx, s.FanIn()).Val(); n != 1 {
		t.Errorf("%d entries for one job that fails", n)
	}
	// The state is lost: its record says what comes next.
	if jobs := client.XRange(ctx, s.Jobs(), "-", "+").Val(); len(jobs) != 1 || jobs[0].Values["id"] != "lost" {
		t.Errorf("%+v", jobs)
	}
	if _, err := client.ZScore(ctx, s.Deadlines(), "lost").Result(); err != redis.Nil {
		t.Errorf("the deadline of the lost job: %v", err)
	}
}

func TestRunMovesWhatIsDueAndStops(t *testing.T) {
	t.Parallel()
	scheduler, s, client := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- scheduler.Run(ctx) }()
	if err := s.Delay(ctx, "1", 300*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if _, err := client.XRead(ctx, &redis.XReadArgs{Streams: []string{s.Jobs(), "0"}, Block: 20 * time.Second}).Result(); err != nil {
		t.Errorf("not moved: %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
