package engine

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/scripts"
)

// tables is a Memory for tests of what is done with one.
type tables struct {
	mu      sync.Mutex
	epoch   string
	number  int64
	sets    map[string]map[string]int64
	fail    error // of SetEpoch
	unread  error // of Dues
	writes  int   // calls of SaveDues
	largest int   // rows in one of them
	missing bool
}

var _ Memory = (*tables)(nil)

func newTables() *tables { return &tables{sets: map[string]map[string]int64{}} }

func (m *tables) there() error {
	if m.missing {
		return ErrNoMemory
	}
	return nil
}

func (m *tables) Epoch(context.Context) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.epoch, m.there()
}

func (m *tables) SetEpoch(_ context.Context, before, now string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil || m.epoch != before {
		return false, m.fail
	}
	m.epoch = now
	return true, m.there()
}

func (m *tables) Dues(_ context.Context, set, after string, most int) ([]Due, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var dues []Due
	for _, member := range slices.Sorted(maps.Keys(m.sets[set])) {
		if member > after && len(dues) < most {
			dues = append(dues, Due{Member: member, At: m.sets[set][member]})
		}
	}
	if m.unread != nil {
		return nil, m.unread
	}
	return dues, m.there()
}

func (m *tables) Mirrored(context.Context) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.number, m.there()
}

func (m *tables) SaveDues(_ context.Context, number int64, set string, put []Due, remove []string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if number <= m.number {
		return false, m.there()
	}
	m.number = number
	m.writes++
	m.largest = max(m.largest, len(put)+len(remove))
	if m.sets[set] == nil {
		m.sets[set] = map[string]int64{}
	}
	for _, d := range put {
		m.sets[set][d.Member] = d.At
	}
	for _, member := range remove {
		delete(m.sets[set], member)
	}
	return true, m.there()
}

// of is a copy of one set.
func (m *tables) of(set string) map[string]int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.sets[set]) == 0 {
		return map[string]int64{}
	}
	return maps.Clone(m.sets[set])
}

// bench is an engine that does not run, with keys of its own.
type bench struct {
	t       *testing.T
	client  *redis.Client
	scripts *scripts.Scripts
	tables  *tables
	e       *Engine
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchOn(t, testmain.SharedRedis(t))
}

func newBenchOn(t *testing.T, server *testenv.Redis) *bench {
	t.Helper()
	client := server.Client()
	t.Cleanup(func() { _ = client.Close() })
	name := testmain.Name(t)
	s := scripts.New(scripts.Options{Redis: client, Keys: scripts.Keys{Prefix: name + ":", Hash: name + "-"}})
	b := &bench{t: t, client: client, scripts: s, tables: newTables()}
	b.e = b.engine()
	return b
}

// engine is one more engine.
func (b *bench) engine() *Engine {
	b.t.Helper()
	m, err := newMetrics(nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return &Engine{
		o: Options{
			Scripts: b.scripts, Memory: b.tables, RebuildEvery: time.Hour, MirrorEvery: 20 * time.Millisecond,
			Limits: config.Limits{RunningJobs: 10, Rebuild: 1000, Grace: time.Minute},
		},
		log: slog.New(slog.DiscardHandler), metrics: m,
	}
}

// rebuilder is one whose Redis has its memory.
func (b *bench) rebuilder() *rebuilder {
	b.t.Helper()
	r := newRebuilder(b.e)
	b.look(&watcher{rebuilder: r})
	if epoch, _ := r.memory(); epoch == "" || epoch != b.tables.epoch {
		b.t.Fatalf("epoch %q, noted %q", epoch, b.tables.epoch)
	}
	return r
}

func (b *bench) look(w *watcher) {
	b.t.Helper()
	if err := w.look(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

// forget is FLUSHALL for the keys of this test.
func (b *bench) forget() {
	b.t.Helper()
	for _, prefix := range []string{b.scripts.Prefix, "{" + b.scripts.Hash, b.scripts.Hash} {
		keys := b.client.Keys(b.t.Context(), prefix+"*").Val()
		if len(keys) > 0 {
			if err := b.client.Del(b.t.Context(), keys...).Err(); err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

// save mirrors what Redis does not have.
func (b *bench) save(set string, put ...Due) {
	b.t.Helper()
	if ok, err := b.tables.SaveDues(b.t.Context(), b.tables.number+1, set, put, nil); err != nil || !ok {
		b.t.Fatal(ok, err)
	}
}

func (b *bench) add(set, member string, score float64) {
	b.t.Helper()
	if err := b.client.ZAdd(b.t.Context(), set, redis.Z{Member: member, Score: score}).Err(); err != nil {
		b.t.Fatal(err)
	}
}

// scores is a set in Redis.
func (b *bench) scores(set string) map[string]int64 {
	b.t.Helper()
	all, err := b.client.ZRangeWithScores(b.t.Context(), set, 0, -1).Result()
	if err != nil {
		b.t.Fatal(err)
	}
	scores := map[string]int64{}
	for _, z := range all {
		scores[z.Member.(string)] = int64(z.Score)
	}
	return scores
}
