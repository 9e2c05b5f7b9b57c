package scripts

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// openInOrder are the open tasks; those that were done before come last.
func (j *mJob) openInOrder() (open []string) {
	for _, name := range slices.Concat(stages...) {
		if is := j.tasks[name]; is != nil && !is.done && !slices.Contains(j.reopened, name) {
			open = append(open, name)
		}
	}
	return append(open, j.reopened...)
}

// expected are the fields of the hash but for times and texts for people.
func (m *machine) expected() map[string]string {
	j := m.job
	want := map[string]string{
		"queryDoneCount": fmt.Sprint(j.done), "queryTarget": fmt.Sprint(j.target), "parameters": j.parameters, "listeners": "a,b",
	}
	if j.stage == 2 {
		want["listeners"] = "a,b;c"
	}
	set := func(is bool, field, value string) {
		if is {
			want[field] = value
		}
	}
	set(j.cancelled, "outcome", string(report.Cancelled))
	set(j.reason, "reason", "T")
	set(j.blamed, "blame", "T")
	set(j.remove, "remove", "1")
	open := "|"
	names := slices.Concat(stages...)
	for _, name := range append(names, job.StepFanIn) {
		is := &j.fold
		if name != job.StepFanIn {
			if is = j.tasks[name]; is == nil {
				continue
			}
		}
		set(is.owner != "", name+":owner", is.owner)
		set(is.entry != "", name+":entry", is.entry)
		set(is.left != "", name+":last_owner", is.left)
		set(is.tried, name+":tries", fmt.Sprint(is.tries))
		set(is.gaveUp > 0, name+":generation", fmt.Sprint(is.gaveUp-1))
		set(is.waiting, name+":next", "T")
		set(is.failed, name+":error", "T")
		set(is.blamed, name+":blame", "T")
		set(is.waits != "", name+":waits", is.waits)
		set(is.memo != "", name+":memo", is.memo)
		set(is.pause != "", name+":pause", "busy "+is.pause)
		set(is.taken, name+":taken", "T")
		set(is.leased, name+":lease", "T")
		set(is.writer != nil, name+":writer", "T")
		if name == job.StepFanIn {
			continue
		}
		bytes := 3 * is.chunks
		if is.ticket != "" {
			bytes = 0
			want[name+":at"], want[name+":at_generation"] = is.ticket, fmt.Sprint(is.listedBy)
		}
		found := fmt.Sprintf(`chunks=%d rows=%d bytes=%d columns=[{"name":"c","type":"integer"}]`, is.chunks, is.chunks, bytes)
		switch {
		case is.omitted:
			want[name+":found"] = "omitted=optional error=broken"
		case is.done:
			want[name+":found"] = found
		case is.chunks > 0:
			want[name+":part"] = found
		}
		for chunk := range bytes / 3 {
			want[job.Field(name, "c", chunk)] = "[1]"
		}
	}
	set(j.spooled() > 0, "spooled", fmt.Sprint(j.spooled()))
	for _, name := range j.openInOrder() {
		if open += name; j.tasks[name].generation > 0 {
			open += fmt.Sprint("#", j.tasks[name].generation)
		}
		open += "|"
	}
	want["job"] = fmt.Sprintf("%d %s %d %d T %d/%d %d %s T T r/d/%s", j.attempt, j.status, j.stage, j.fence, j.done, j.target, j.bytes, open, digest([]byte(j.parameters)))
	return want
}

// agree compares everything.
func (m *machine) agree(t *rapid.T) {
	ctx := t.Context()
	pipe := m.client.Pipeline()
	hash, ended := pipe.HGetAll(ctx, m.s.Keys.Job("1")), pipe.Get(ctx, m.s.Keys.Ended("1"))
	ttl, endedTTL := pipe.PTTL(ctx, m.s.Keys.Job("1")), pipe.PTTL(ctx, m.s.Keys.Ended("1"))
	deadline, wake := pipe.ZScore(ctx, m.s.Keys.Deadlines, "1"), pipe.PExpireTime(ctx, m.s.Keys.Wake)
	delayed := pipe.ZRange(ctx, m.s.Keys.Delayed, 0, -1)
	streams, pending := map[string]*redis.XMessageSliceCmd{}, map[string]*redis.XPendingExtCmd{}
	for _, step := range steps {
		streams[step] = pipe.XRange(ctx, m.stream(step), "-", "+")
		pending[step] = pipe.XPendingExt(ctx, &redis.XPendingExtArgs{Stream: m.stream(step), Group: Group, Start: "-", End: "+", Count: 1000})
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	for _, step := range steps {
		m.agreeStream(t, step, streams[step].Val(), pending[step].Val())
	}
	if want := slices.Sorted(maps.Keys(m.delayed)); !slices.Equal(slices.Sorted(slices.Values(delayed.Val())), want) {
		t.Fatalf("delayed: %v, the model has %v", delayed.Val(), want)
	}
	if (ended.Err() == nil) != (m.tombstone != nil) || m.tombstone != nil && !strings.HasPrefix(ended.Val(), fmt.Sprintf("%d %s r/d/", m.tombstone.attempt, m.tombstone.status)) {
		t.Fatalf("the tombstone is %q, the model's %+v", ended.Val(), m.tombstone)
	}
	if m.tombstone != nil && (endedTTL.Val() <= 0 || endedTTL.Val() > TombstoneTTL) {
		t.Fatalf("the tombstone lasts %v", endedTTL.Val())
	}
	if m.job == nil {
		if len(hash.Val()) > 0 {
			t.Fatalf("the hash is %v, the model has none", hash.Val())
		}
		return
	}
	m.agreeHash(t, hash.Val())
	if ttl.Val() <= 0 {
		t.Fatalf("the TTL of the hash is %v", ttl.Val())
	}
	if (deadline.Err() != nil) != m.job.noDeadline {
		t.Fatalf("its deadline: %v; lost: %v", deadline, m.job.noDeadline)
	}
	if at := int64(deadline.Val()); !m.job.noDeadline && at > time.Now().UnixMilli() && (wake.Val() <= 0 || wake.Val().Milliseconds() > at) {
		t.Fatalf("the deadline is %d, the wake key ends at %d", at, wake.Val().Milliseconds())
	}
	m.agreeState(t)
	for key, n := range m.barriers {
		if n > 1 {
			t.Fatalf("barrier %s was reached %d times", key, n)
		}
	}
	// Every step that is open has a message that leads to it.
	for name, task := range m.job.tasks {
		if m.job.status == job.StatusRun && !task.done && !m.lost[name] && !m.has(name) && !m.waitsLater(name) {
			t.Fatalf("no message leads to task %s", name)
		}
	}
	if m.job.status != job.StatusRun && !m.lost[job.StepFanIn] && !m.has(job.StepFanIn) && !m.waitsLater(job.StepFanIn) {
		t.Fatalf("no message leads to the job, which is %s", m.job.status)
	}
}

// agreeStream compares the entries of a stream, and notes the ids of new ones.
func (m *machine) agreeStream(t *rapid.T, step string, entries []redis.XMessage, pending []redis.XPendingExt) {
	t.Helper()
	want := m.streams[step]
	if len(entries) != len(want) {
		t.Fatalf("%s has %d entries, the model %d", step, len(entries), len(want))
	}
	with := map[string]string{}
	for _, p := range pending {
		with[p.ID] = p.Consumer
	}
	for i, e := range entries {
		if want[i].id == "" {
			want[i].id = e.ID
		}
		got := map[string]string{}
		for name, value := range e.Values {
			got[name], _ = value.(string)
		}
		if want[i].id != e.ID || !maps.Equal(got, want[i].fields) || with[e.ID] != want[i].with {
			t.Fatalf("%s has %v with %q, the model %+v", step, e, with[e.ID], want[i])
		}
		delete(with, e.ID)
	}
	if len(with) > 0 {
		t.Fatalf("%s has pending entries that do not exist: %v", step, with)
	}
}

func (m *machine) agreeHash(t *rapid.T, fields map[string]string) {
	t.Helper()
	got := map[string]string{}
	for field, value := range fields {
		for _, suffix := range []string{":next", ":error", ":blame", ":taken", ":lease", ":writer", "reason", "blame"} {
			if strings.HasSuffix(field, suffix) {
				value = "T"
			}
		}
		if words := strings.Split(value, " "); field == "job" && len(words) == 11 {
			words[4], words[8], words[9] = "T", "T", "T"
			value = strings.Join(words, " ")
		}
		if strings.HasSuffix(field, ":found") {
			words := strings.SplitN(value, " ", 3)
			if value = strings.Join(words[1:], " "); strings.HasPrefix(value, "ms=") {
				value = words[2]
			}
		}
		got[field] = value
	}
	want := m.expected()
	for field, value := range want {
		if got[field] != value {
			t.Fatalf("%s is %q, the model's %q", field, got[field], value)
		}
	}
	for field, value := range got {
		if _, ok := want[field]; !ok {
			t.Fatalf("%s is %q, the model does not have it", field, value)
		}
	}
}

// agreeState compares what Read makes of the hash.
func (m *machine) agreeState(t *rapid.T) {
	t.Helper()
	state, err := m.s.Jobs.Read(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	j := m.job
	if state.Attempt != j.attempt || state.Stage != j.stage || state.Status != j.status || state.Fence != j.fence || state.Worker != j.fold.owner ||
		state.Done != j.done || state.Target != j.target || state.Bytes != j.bytes || state.Spooled != j.spooled() || state.Fold.Tries != j.fold.tries ||
		(state.Outcome == string(report.Cancelled)) != j.cancelled || len(state.Tasks) != len(j.tasks) || state.Report != "r" || state.Definition != "d" {
		t.Fatalf("read %+v, the model has %+v", state, j)
	}
	for name, is := range j.tasks {
		task, tries := state.Tasks[name], is.tries
		if waited := is.stage == j.stage || !is.done; slices.Contains(state.Listeners, name) != waited {
			t.Fatalf("read %v as listeners of stage %d, %s is %+v", state.Listeners, j.stage, name, is)
		}
		waits, pause := is.waits, ""
		if !is.done && is.pause != "" {
			waits, pause = is.pause, is.pause
		}
		if is.owner != "" || is.done {
			tries++ // with the one that runs, or the last
		}
		if task.Owner != is.owner || task.Tries != tries || task.Done != is.done || task.Chunks != is.chunks || task.At != is.ticket || task.Stage != is.stage || task.LastOwner != is.left ||
			!is.done && task.Generation != is.generation || string(task.Memo) != is.memo || task.Waits != waits || task.Pause != pause || (task.Policy != "") != is.omitted || task.Next.IsZero() == is.waiting {
			t.Fatalf("read %s %+v, the model has %+v", name, task, is)
		}
	}
}
