package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// TestALostMessageIsSentAgain, whatever somebody has done to the stream: once, and only
// to a step that nobody works on and that does not wait.
func TestALostMessageIsSentAgain(t *testing.T) {
	t.Parallel()
	read := func(b *bundle) string {
		b.client.XGroupCreate(t.Context(), b.s.Keys.Task("l"), scripts.Group, "0")
		streams, err := b.client.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: scripts.Group, Consumer: "c", Streams: []string{b.s.Keys.Task("l"), ">"}}).Result()
		if err != nil {
			t.Fatal(err)
		}
		return streams[0].Messages[0].ID
	}
	for name, lose := range map[string]func(*bundle) error{
		"DEL":   func(b *bundle) error { return b.client.Del(t.Context(), b.s.Keys.Task("l")).Err() },
		"XTRIM": func(b *bundle) error { return b.client.XTrimMaxLen(t.Context(), b.s.Keys.Task("l"), 0).Err() },
		"XDEL of a pending entry": func(b *bundle) error {
			return b.client.XDel(t.Context(), b.s.Keys.Task("l"), read(b)).Err()
		},
		"XGROUP DESTROY": func(b *bundle) error {
			read(b)
			b.client.XGroupDestroy(t.Context(), b.s.Keys.Task("l"), scripts.Group)
			return b.client.XGroupCreate(t.Context(), b.s.Keys.Task("l"), scripts.Group, "$").Err()
		},
		"XACK of an entry that is not done": func(b *bundle) error {
			return b.client.XAck(t.Context(), b.s.Keys.Task("l"), scripts.Group, read(b)).Err()
		},
		"SET, and DEL later": func(b *bundle) error {
			b.client.Set(t.Context(), b.s.Keys.Task("l"), "x", 0)
			b.until("it is found to be of another type", func() bool { return b.said("WRONGTYPE") > 0 })
			return b.client.Del(t.Context(), b.s.Keys.Task("l")).Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := shared(t)
			b.start("1", time.Hour)
			b.start("2", time.Hour)
			b.start("3", time.Hour)
			leased := b.task("2") // an external worker has it
			leased.Lease = time.Hour
			if outcome, err := leased.Take(t.Context(), scripts.Take{Owner: "w2", Known: []string{"d"}}); outcome != scripts.OK || err != nil {
				t.Fatal(outcome, err)
			}
			if outcome, err := b.task("3").Requeue(t.Context(), scripts.Requeue{Delay: time.Hour, Counts: true, Error: "no luck"}); outcome != scripts.OK || err != nil {
				t.Fatal(outcome, err)
			}
			b.run("a")
			b.run("b")
			if err := lose(b); err != nil {
				t.Fatal(err)
			}
			b.until("the message is there again", func() bool { return b.said("resent a lost message") > 0 })
			for i := range 2 { // and two passes more
				b.client.Del(t.Context(), b.s.Keys.Lock("lost"))
				b.options.Metrics = nil
				if _, err := b.scheduler(fmt.Sprint("c", i)).lost.once(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for _, e := range b.client.XRange(t.Context(), b.s.Keys.Task("l"), "-", "+").Val() {
				if e.Values["id"] == "1" {
					got = append(got, fmt.Sprint(e.Values["attempt"]))
				}
			}
			if n := b.said("resent a lost message"); n != 1 || len(got) != 1 || got[0] != "1" {
				t.Errorf("sent %d times; the stream has %v", n, got)
			}
		})
	}
}

// TestALostFanInIsSentAgain, of a job that is ready and of one that is to end.
func TestALostFanInIsSentAgain(t *testing.T) {
	t.Parallel()
	b := shared(t)
	b.start("1", time.Hour)
	b.start("2", time.Hour)
	chunk := scripts.Chunk{Names: []string{"c"}, Columns: []map[string]string{{"name": "c"}}, Fields: [][]byte{[]byte("[]")}}
	if outcome, err := b.task("1").Complete(t.Context(), chunk, 0); outcome != scripts.Already || err != nil {
		t.Fatal(outcome, err)
	}
	if outcome, err := b.task("2").Fail(t.Context(), "no luck", job.BlameSource); outcome != scripts.OK || err != nil {
		t.Fatal(outcome, err)
	}
	if err := b.client.Del(t.Context(), b.s.Keys.FanIn).Err(); err != nil {
		t.Fatal(err)
	}
	b.run("a")
	b.until("both are sent again", func() bool { return b.client.XLen(t.Context(), b.s.Keys.FanIn).Val() == 2 })
	outcome, _, err := b.s.Folds.Claim(t.Context(), scripts.Claim{Message: scripts.Message{ID: "1", Attempt: 1}, Worker: "w", Known: []string{"d"}})
	if outcome != scripts.OK || err != nil {
		t.Error(outcome, err)
	}
}

// TestAnEntryThatIsPendingIsNotLost: no take tells whose a task is that was delivered for the
// first time, but the pending list does.
func TestAnEntryThatIsPendingIsNotLost(t *testing.T) {
	t.Parallel()
	b := shared(t)
	b.start("1", time.Hour)
	b.start("2", time.Hour)
	b.client.XGroupCreate(t.Context(), b.s.Keys.Task("l"), scripts.Group, "0")
	if err := b.client.XReadGroup(t.Context(), &redis.XReadGroupArgs{
		Group: scripts.Group, Consumer: "c", Streams: []string{b.s.Keys.Task("l"), ">"}, Count: 1,
	}).Err(); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		b.client.Del(t.Context(), b.s.Keys.Lock("lost"))
		if _, err := b.scheduler(fmt.Sprint("c", i)).lost.once(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := b.client.XLen(t.Context(), b.s.Keys.Task("l")).Val(); n != 2 || b.said("resent a lost message") > 0 {
		t.Errorf("%d entries of two tasks, one of which is worked on:\n%s", n, &b.log)
	}
}

// TestAJobWithoutStateIsPushedAgain: its hash is gone, or its line in it: this attempt cannot
// go on.
func TestAJobWithoutStateIsPushedAgain(t *testing.T) {
	t.Parallel()
	b := shared(t)
	for _, id := range []string{"1", "2", "3"} {
		b.start(id, time.Hour)
	}
	b.client.Del(t.Context(), b.s.Keys.Job("1"))
	b.client.HDel(t.Context(), b.s.Keys.Job("2"), "job")
	b.run("a")
	b.until("two are pushed", func() bool { return b.client.XLen(t.Context(), b.s.Keys.Jobs).Val() == 2 })
	if left := b.client.ZRange(t.Context(), b.s.Keys.Deadlines, 0, -1).Val(); len(left) != 1 || left[0] != "3" {
		t.Errorf("%v run", left)
	}
	if n := b.client.Exists(t.Context(), b.s.Keys.Job("1"), b.s.Keys.Job("2")).Val(); n != 0 {
		t.Errorf("%d keys of them are left", n)
	}
}
