package scripts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
)

// laneModel drives the scripts of lanes beside a model: which ids wait, and which have a slot.
type laneModel struct {
	t      *rapid.T
	client *redis.Client
	s      *Scripts
	of     report.Lanes

	n     int
	waits map[string]Seeker
	slots map[string]Seeker // with or without a job
	jobs  map[string]bool   // ids with a running job

	crashed string // id that is to be read again
}

// TestLanesModel: whatever happens in whatever order, no id is lost or has two turns, no limit is exceeded, and
// no slot is free that a waiting id could have.
func TestLanesModel(t *testing.T) {
	t.Parallel()
	client := testmain.SharedRedis(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		m := &laneModel{t: rt, client: client, waits: map[string]Seeker{}, slots: map[string]Seeker{},
			jobs: map[string]bool{}}
		m.of = report.Lanes{RunningJobs: rapid.IntRange(1, 6).Draw(rt, "running jobs"),
			Running: rapid.IntRange(0, 3).Draw(rt, "running"), Weights: []report.LaneWeight{{Lane: "a", Weight: 3}},
			Classes: []report.Class{
				{Name: "bulk", Running: rapid.IntRange(0, 3).Draw(rt, "bulk"), Weight: 1},
				{Name: "quick", Running: rapid.IntRange(0, 3).Draw(rt, "quick"), Weight: 4},
			}}
		m.configure(fmt.Sprintf("%s_%d", testmain.Name(t), round))
		rt.Repeat(map[string]func(*rapid.T){
			"":        m.agree,
			"admit":   m.admit,
			"repeat":  m.repeat,
			"start":   m.start,
			"end":     m.end,
			"end ":    m.end,
			"crash":   m.crash,
			"cancel":  m.cancel,
			"limits":  m.limits,
			"unknown": func(t *rapid.T) { m.leave("unknown") },
		})
		m.drain()
	})
}

func (m *laneModel) configure(name string) {
	m.s = New(Options{Redis: m.client, Keys: report.Keys{Prefix: name + ":", Hash: name + "-"}, Lanes: &m.of})
}

func (m *laneModel) ok(err error) {
	if err != nil {
		m.t.Fatal(err)
	}
}

// one draws one of some ids; empty: there is none.
func one[V any](t *rapid.T, of map[string]V) string {
	if len(of) == 0 {
		t.Skip()
	}
	return rapid.SampledFrom(slices.Sorted(maps.Keys(of))).Draw(t, "id")
}

func (m *laneModel) admit(t *rapid.T) {
	var all []Seeker
	for range rapid.SampledFrom([]int{1, 2, 3, 5, 70}).Draw(t, "ids") {
		m.n++
		k := Seeker{ID: fmt.Sprint(m.n), Lane: rapid.SampledFrom([]string{"a", "b", "ü c", ""}).Draw(t, "lane"),
			Report: &report.Report{Class: rapid.SampledFrom([]string{"", "bulk", "quick"}).Draw(t, "class")}}
		all = append(all, k)
	}
	m.admitAll(all)
}

func (m *laneModel) admitAll(all []Seeker) {
	a, err := m.s.Lanes.Admit(m.t.Context(), all)
	m.ok(err)
	for i, k := range all {
		if _, has := m.slots[k.ID]; has && !a.Admitted[i] {
			m.t.Fatalf("%s has lost its slot", k.ID)
		}
		delete(m.waits, k.ID)
		if a.Admitted[i] {
			m.slots[k.ID] = k
		} else {
			m.waits[k.ID] = k
		}
	}
	m.turns()
}

// repeat admits an id again that waits or has a slot, as a duplicate does, or an entry after a crash.
func (m *laneModel) repeat(t *rapid.T) {
	all := maps.Clone(m.waits)
	maps.Copy(all, m.slots)
	m.admitAll([]Seeker{all[one(t, all)]})
}

// turns moves the ids that have had their turn.
func (m *laneModel) turns() {
	for _, e := range m.client.XRange(m.t.Context(), m.s.Keys.Next, "-", "+").Val() {
		id := e.Values["id"].(string)
		if id == m.crashed {
			m.crashed = ""
			continue
		}
		k, waits := m.waits[id]
		if !waits {
			m.t.Fatalf("%s has had a turn and did not wait", id)
		}
		delete(m.waits, id)
		m.slots[id] = k
	}
	m.client.XTrimMaxLen(m.t.Context(), m.s.Keys.Next, 0)
}

// start starts the job of an id that has a slot.
func (m *laneModel) start(t *rapid.T) {
	id := one(t, m.slots)
	m.jobs[id] = true
	m.client.HSet(m.t.Context(), m.s.Keys.Job(id), "job", "1 RUN")
	m.client.ZAdd(m.t.Context(), m.s.Keys.Deadlines, redis.Z{Member: id, Score: 1})
}

func (m *laneModel) leave(ids ...string) {
	m.ok(m.s.Lanes.Leave(m.t.Context(), ids...))
	for _, id := range ids {
		if !m.jobs[id] {
			delete(m.slots, id)
		}
	}
	m.turns()
}

// end ends a job, or gives a slot back that has none. A call can contain an id twice.
func (m *laneModel) end(t *rapid.T) {
	id := one(t, m.slots)
	m.gone(id)
	m.leave(id, id)
}

func (m *laneModel) gone(id string) {
	m.client.Del(m.t.Context(), m.s.Keys.Job(id))
	m.client.ZRem(m.t.Context(), m.s.Keys.Deadlines, id)
	delete(m.jobs, id)
}

// crash loses the call that gives a slot back, which a sweep does later.
func (m *laneModel) crash(t *rapid.T) {
	id := one(t, m.slots)
	m.gone(id)
	entry := strings.Fields(m.client.HGet(m.t.Context(), m.s.Keys.Lanes, id).Val())
	entry[1] = fmt.Sprint(time.Now().Add(-2 * slotAge).UnixMilli())
	m.client.HSet(m.t.Context(), m.s.Keys.Lanes, id, strings.Join(entry, " "))
	m.crashed = id
	m.sweep()
	if _, has := m.client.HGet(m.t.Context(), m.s.Keys.Lanes, id).Result(); has == nil {
		m.t.Fatalf("%s still has its slot", id)
	}
	delete(m.slots, id)
	if m.turns(); m.crashed != "" {
		m.t.Fatalf("%s is not read again", id)
	}
}

func (m *laneModel) sweep() {
	var at LaneSweep
	for range 3 { // the first calls find the classes that are not configured any more
		m.ok(m.s.Lanes.Sweep(m.t.Context(), &at))
	}
}

func (m *laneModel) cancel(t *rapid.T) {
	id := one(t, m.waits)
	m.ok(m.s.Lanes.Remove(m.t.Context(), id))
	delete(m.waits, id)
	m.turns()
}

// limits changes the configuration. Sweeps put it into force.
func (m *laneModel) limits(t *rapid.T) {
	m.of.RunningJobs = max(m.of.RunningJobs, len(m.slots)) + rapid.IntRange(0, 2).Draw(t, "more")
	m.of.Running = 0
	m.of.Classes = slices.Clone(m.of.Classes)
	for i := range m.of.Classes {
		m.of.Classes[i].Running = 0
	}
	m.configure(strings.TrimSuffix(m.s.Keys.Prefix, ":"))
	m.sweep()
	m.turns()
}

// agree compares Redis with the model.
func (m *laneModel) agree(t *rapid.T) {
	ctx := t.Context()
	of, class, lane := map[string]int{}, map[string]int{}, map[string]int{}
	all := m.client.HGetAll(ctx, m.s.Keys.Lanes).Val()
	count := func(ks map[string]Seeker, kind string) {
		for id, k := range ks {
			entry := strings.Fields(all[id])
			if len(entry) != 7 || entry[0] != kind || entry[4] != m.of.Of(k.Report).Name || entry[5] != report.LaneName(k.Lane) {
				t.Fatalf("%s of %+v is %q", id, k, entry)
			}
			of[kind]++
			if kind == "R" {
				class[entry[4]]++
				lane[entry[5]]++
			}
		}
	}
	count(m.waits, "W")
	count(m.slots, "R")
	if delete(all, ":turn"); len(all) != of["W"]+of["R"] {
		t.Fatalf("%d entries for %v", len(all), of)
	}
	if of["R"] > m.of.RunningJobs {
		t.Fatalf("%d jobs run, and %d may", of["R"], m.of.RunningJobs)
	}
	for _, c := range m.of.All() {
		if c.Running > 0 && class[c.Name] > c.Running {
			t.Fatalf("%d jobs of class %s run, and %d may", class[c.Name], c.Name, c.Running)
		}
	}
	for name, n := range lane {
		if m.of.Running > 0 && n > m.of.Running {
			t.Fatalf("%d jobs of lane %s run, and %d may", n, name, m.of.Running)
		}
	}
	for id, k := range m.waits {
		c := m.of.Of(k.Report)
		if of["R"] < m.of.RunningJobs && (c.Running == 0 || class[c.Name] < c.Running) &&
			(m.of.Running == 0 || lane[report.LaneName(k.Lane)] < m.of.Running) {
			t.Fatalf("%s of %+v waits although it could run: %v %v", id, k, class, lane)
		}
	}
}

// drain ends all jobs: every id has its turn, and nothing is left in Redis.
func (m *laneModel) drain() {
	for len(m.slots) > 0 {
		id := slices.Sorted(maps.Keys(m.slots))[0]
		m.gone(id)
		m.leave(id)
		m.agree(m.t)
	}
	if len(m.waits) > 0 {
		m.t.Fatalf("%v wait for ever", slices.Sorted(maps.Keys(m.waits)))
	}
	if keys := m.client.Keys(m.t.Context(), m.s.Keys.Lanes+"*").Val(); len(keys) > 0 {
		m.t.Fatalf("%q are left", keys)
	}
	m.client.Del(m.t.Context(), m.s.Keys.Next)
}
