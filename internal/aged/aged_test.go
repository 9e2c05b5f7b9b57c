package aged

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCache: an answer is held up to its maximum age, and an error is not held.
func TestCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		away := errors.New("away")
		c := Cache[string, int64]{MaxAge: time.Second, Ask: func(_ context.Context, key string) (int64, error) {
			n := asked.Add(1)
			if key == "away" {
				return n, away
			}
			return n, nil
		}}
		want := func(key string, want int64, failed error) {
			t.Helper()
			if got, err := c.Get(t.Context(), key); got != want || !errors.Is(err, failed) {
				t.Errorf("%s: %d, %v", key, got, err)
			}
		}
		want("a", 1, nil)
		time.Sleep(time.Second)
		want("a", 1, nil)
		want("b", 2, nil)
		time.Sleep(time.Millisecond)
		want("a", 3, nil)
		want("away", 4, away)
		want("away", 5, away)
		c.Forget()
		want("a", 6, nil)
	})
}

// TestCacheMax: the cache holds at most Max answers.
func TestCacheMax(t *testing.T) {
	t.Parallel()
	c := Cache[int, int]{Max: 10, Ask: func(_ context.Context, key int) (int, error) { return key, nil }}
	for i := range 35 {
		if got, err := c.Get(t.Context(), i); got != i || err != nil || len(c.known) > 10 {
			t.Errorf("%d: %d, %v, %d answers", i, got, err, len(c.known))
		}
	}
}

// TestCacheIsAskedOnce: all callers wait for one call, which goes on when they leave.
func TestCacheIsAskedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		answers := make(chan int)
		c := Cache[string, int]{Ask: func(context.Context, string) (int, error) {
			asked.Add(1)
			return <-answers, nil
		}}
		left := errors.New("left")
		ctx, leave := context.WithCancelCause(t.Context())
		var group sync.WaitGroup
		for range 10 {
			group.Go(func() {
				if _, err := c.Get(ctx, "a"); !errors.Is(err, left) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		leave(left)
		group.Wait()
		answers <- 7
		for range 2 {
			if n, err := c.Get(t.Context(), "a"); n != 7 || err != nil || asked.Load() != 1 {
				t.Errorf("%d, %v, asked %d times", n, err, asked.Load())
			}
		}
	})
}

// TestCacheTimeout: a call ends after the timeout, whatever the deadline of its caller.
func TestCacheTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := Cache[string, int]{Timeout: time.Minute, Ask: func(ctx context.Context, _ string) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}}
		began := time.Now()
		if _, err := c.Get(t.Context(), "a"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// TestForgetWhileAsking: an answer that was asked for before Forget is not held after it.
func TestForgetWhileAsking(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan int)
		c := Cache[string, int]{Ask: func(context.Context, string) (int, error) { return <-answers, nil }}
		got := make(chan int, 2)
		get := func() {
			n, _ := c.Get(t.Context(), "a")
			got <- n
		}
		go get()
		synctest.Wait()
		c.Forget()
		go get()
		synctest.Wait()
		answers <- 1
		answers <- 2
		if sum := <-got + <-got; sum != 3 {
			t.Error(sum)
		}
	})
}

// TestCacheSurvivesAPanic: a panic is the error of those who wait.
func TestCacheSurvivesAPanic(t *testing.T) {
	t.Parallel()
	c := Cache[string, int]{Ask: func(context.Context, string) (int, error) { panic("out of luck") }}
	if _, err := c.Get(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "out of luck") {
		t.Error(err)
	}
}

// TestLatest: nobody waits for a read, and only one is running.
func TestLatest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := Latest[int]{Every: time.Second}
		reads, answers := 0, make(chan int)
		get := func(want int) {
			t.Helper()
			if got := l.Get(func() int { reads++; return <-answers }); got != want {
				t.Errorf("%d, not %d", got, want)
			}
		}
		get(0)
		time.Sleep(2 * time.Second)
		get(0)
		answers <- 7
		synctest.Wait()
		get(7)
		synctest.Wait()
		answers <- 8
		l.Wait()
		get(8)
		if reads != 2 {
			t.Errorf("%d reads", reads)
		}
	})
}
