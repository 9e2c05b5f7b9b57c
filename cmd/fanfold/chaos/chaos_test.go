package chaos

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
)

// TestChaos runs one round of the chaos suite. With CHAOS=1h in the environment, as make chaos sets
// it, it runs rounds with increasing seeds for that long. It ends at the first broken guarantee and
// prints the seed.
//
// A round starts its own servers and processes and runs jobs of two stages and three listeners while the
// faults of a schedule happen. The seed alone determines the schedule; what a fault hits depends on the
// machine. make chaos has rounds of 1,000 jobs and 30 seconds of faults.
//
//	CHAOS         duration; default one round
//	CHAOS_SEED    seed of the first round; default from the clock
//	CHAOS_REDIS   alone, sentinel or cluster; default alone
//	CHAOS_FAULTS  kinds of faults, separated by commas; default all
//	CHAOS_JOBS    jobs of a round; default 500
//	CHAOS_STORM   duration of the faults of a round; default 15s
//	CHAOS_DIR     folder for logs and the servers' files; default: they are deleted
//
// It does not run in parallel with other tests, because it needs the whole machine.
func TestChaos(t *testing.T) {
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("CHAOS_SEED"), strconv.FormatInt(time.Now().Unix()%1e6, 10)), 10, 64)
	redis := cmp.Or(os.Getenv("CHAOS_REDIS"), e2e.Alone)
	if !slices.Contains(redisKinds, redis) {
		t.Fatalf("CHAOS_REDIS: %q is none of %s", redis, strings.Join(redisKinds, ", "))
	}
	all := faultKinds(redis)
	kinds := strings.Split(cmp.Or(os.Getenv("CHAOS_FAULTS"), strings.Join(all, ",")), ",")
	jobs, jobsErr := strconv.Atoi(cmp.Or(os.Getenv("CHAOS_JOBS"), "500"))
	storm, stormErr := time.ParseDuration(cmp.Or(os.Getenv("CHAOS_STORM"), "15s"))
	long, longErr := time.ParseDuration(cmp.Or(os.Getenv("CHAOS"), "0s"))
	for _, err := range []error{err, jobsErr, stormErr, longErr} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range kinds {
		if k != "" && !slices.Contains(all, k) {
			t.Fatalf("CHAOS_FAULTS: %q is none of %s", k, strings.Join(all, ", "))
		}
	}
	logging.Disable() // outages of Redis are expected here
	t.Cleanup(logging.Enable)
	sum := &totals{n: map[string]int{}}
	began := time.Now()
	for n := 0; n == 0 || time.Since(began) < long; n++ {
		dir := t.TempDir()
		if keep := os.Getenv("CHAOS_DIR"); keep != "" {
			dir = filepath.Join(keep, fmt.Sprint(seed))
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		round := &round{t: t, seed: seed, kind: redis, kinds: kindsFor(seed, kinds), storm: storm, jobs: jobs, dir: dir, totals: sum, checked: map[int]bool{}}
		round.run(context.WithoutCancel(t.Context()))
		sum.add("rounds", 1)
		sum.add("jobs", jobs)
		if len(round.violations) > 0 {
			slices.Sort(round.violations)
			t.Errorf("CHAOS_SEED=%d breaks %d times:\n  %s", seed, len(round.violations), strings.Join(round.violations[:min(30, len(round.violations))], "\n  "))
			break
		}
		if long > 0 {
			fmt.Printf("chaos: seed %d is right, after %s\n", seed, time.Since(began).Round(time.Second))
			if os.Getenv("CHAOS_DIR") == "" {
				_ = os.RemoveAll(dir) // an hour of rounds would fill the disk
			}
		}
		seed++
	}
	t.Logf("totals after %s:\n%s", time.Since(began).Round(time.Second), sum)
}

// TestChaosOfSets runs one short round on a Sentinel set and one on a cluster, in parallel with
// other tests.
func TestChaosOfSets(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{e2e.Sentinel, e2e.Cluster} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			sum := &totals{n: map[string]int{}}
			seed := uint64(time.Now().Unix() % 1e6)
			round := &round{
				t: t, seed: seed, kind: kind, kinds: kindsFor(seed, faultKinds(kind)), storm: 10 * time.Second, jobs: 200,
				dir: t.TempDir(), totals: sum, checked: map[int]bool{},
			}
			round.run(context.WithoutCancel(t.Context()))
			if len(round.violations) > 0 {
				t.Errorf("CHAOS_SEED=%d breaks:\n  %s", seed, strings.Join(round.violations[:min(30, len(round.violations))], "\n  "))
			}
			t.Logf("totals:\n%s", sum)
		})
	}
}

// totals counts what happened. It is safe for concurrent use.
type totals struct {
	mu sync.Mutex
	n  map[string]int
}

func (t *totals) add(what string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n[what] += n
}

// most keeps the largest number.
func (t *totals) most(what string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n[what] = max(t.n[what], n)
}

func (t *totals) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for what, n := range t.n {
		lines = append(lines, fmt.Sprintf("  %-60s %d", what, n))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
