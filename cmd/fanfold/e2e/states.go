package e2e

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/sink"
)

// States are the states of jobs in Redis, which a test brings about without workers.
type States struct {
	testing.TB
	p       *process.Process
	records Records
	files   Files
}

// Taken waits until a worker has the task of listener one of a job.
func (s States) Taken(id string) {
	s.Helper()
	Eventually(s, "the task is taken", func() bool {
		state, err := s.p.Partitions.First().Jobs.Read(s.Context(), id)
		return err == nil && state.Tasks["one"].Owner != ""
	})
}

// Ready returns the id of a job of report slow that is READY and that no worker has claimed.
func (s States) Ready() string {
	s.Helper()
	id := s.records.Insert("slow", "")
	if _, err := s.p.Records.Start(s.Context(), []engine.Run{{ID: id}}); err != nil {
		s.Fatal(err)
	}
	s.ReadyWith(id, s.p.Config.Reports["slow"].Hash())
	return id
}

// ReadyWith starts a job with a definition and completes its task.
func (s States) ReadyWith(id, hash string) {
	s.Helper()
	ctx, sc := s.Context(), s.p.Partitions.First()
	if _, err := sc.Jobs.Start(ctx, "", scripts.Start{
		ID: id, Attempt: 1, Parameters: []byte("{}"),
		Plan: scripts.Plan{Report: "slow", Definition: hash, Timeout: time.Hour, Listeners: "one"},
	}); err != nil {
		s.Fatal(err)
	}
	stream := sc.Keys.Task("one")
	for _, entry := range s.p.Redis.XRange(ctx, stream, "-", "+").Val() {
		if entry.Values["id"] != id {
			continue
		}
		of := scripts.Entry{Stream: stream, ID: entry.ID}
		task, _ := sc.Tasks.New(scripts.Message{ID: id, Attempt: 1}, "one", of)
		outcome, err := task.Complete(ctx, scripts.Chunk{
			Rows: 1, Names: []string{"k", "v"}, Fields: [][]byte{[]byte("[1]"), []byte("[0]")},
			Columns: []map[string]string{{"name": "k", "type": "integer"}, {"name": "v", "type": "integer"}},
		}, 0)
		if err != nil || outcome != scripts.Already {
			s.Fatal(outcome, err)
		}
	}
}

// Claim claims a READY job for a worker.
func (s States) Claim(id, worker string) *scripts.Fold {
	s.Helper()
	ctx, sc := s.Context(), s.p.Partitions.First()
	state, err := sc.Jobs.Read(ctx, id)
	if err != nil {
		s.Fatal(err)
	}
	_ = s.p.Redis.XGroupCreateMkStream(ctx, sc.Keys.FanIn, scripts.Group, "0").Err()
	err = s.p.Redis.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: scripts.Group, Consumer: worker, Streams: []string{sc.Keys.FanIn, ">"}, Block: -1,
	}).Err()
	if err != nil && !errors.Is(err, redis.Nil) {
		s.Fatal(err)
	}
	claimed, _, err := s.p.Redis.XAutoClaim(ctx, &redis.XAutoClaimArgs{
		Stream: sc.Keys.FanIn, Group: scripts.Group, Consumer: worker, Start: "0",
	}).Result()
	if err != nil {
		s.Fatal(err)
	}
	entry := scripts.Entry{Stream: sc.Keys.FanIn, Consumer: worker}
	for _, m := range claimed {
		if m.Values["id"] == id {
			entry.ID = m.ID
		}
	}
	outcome, f, err := sc.Folds.Claim(ctx, scripts.Claim{
		Message: scripts.Message{ID: id, Attempt: 1}, Worker: worker, Known: []string{state.Definition},
		Redelivered: state.Worker != "", Entry: entry,
	})
	if err != nil || outcome != scripts.OK {
		s.Fatal(outcome, err)
	}
	return f
}

// Publish claims a READY job for a worker, and makes it PUBLISHING.
func (s States) Publish(id, worker string) {
	s.Helper()
	outcomes, err := s.p.Partitions.First().Folds.Publish(s.Context(), s.Claim(id, worker))
	if err != nil || outcomes[0] != scripts.OK {
		s.Fatal(outcomes, err)
	}
}

// Published starts a job of report slow whose worker dies right after the commit of its file.
func (s States) Published(to sink.Sink) string {
	s.Helper()
	id := s.Ready()
	s.Publish(id, "dead")
	w, err := to.Create(s.Context(), sink.Object{Name: s.files.Named("slow", id, 1)})
	if err != nil {
		s.Fatal(err)
	}
	if _, err := w.Write([]byte("k,v\r\n1,0\r\n")); err != nil {
		s.Fatal(err)
	}
	if _, err := w.Commit(); err != nil {
		s.Fatal(err)
	}
	return id
}

// Set changes one word of a job's state.
func (s States) Set(id string, word int, value string) {
	s.Helper()
	words := strings.Split(string(s.Field(id, "job")), " ")
	if len(words) <= word {
		s.Fatalf("the state of %s is %q", id, words)
	}
	words[word] = value
	s.SetField(id, "job", []byte(strings.Join(words, " ")))
}

// LoseData deletes the columns of a job and keeps its state.
func (s States) LoseData(id string) {
	s.Helper()
	key := s.p.Partitions.First().Keys.Job(id)
	for field := range s.p.Redis.HGetAll(s.Context(), key).Val() {
		if strings.Contains(field, ".") && !strings.Contains(field, ":") || strings.HasPrefix(field, "one.") {
			if err := s.p.Redis.HDel(s.Context(), key, field).Err(); err != nil {
				s.Fatal(err)
			}
		}
	}
}

// Field returns a field of a job's hash.
func (s States) Field(id, name string) []byte {
	s.Helper()
	value, err := s.p.Redis.HGet(s.Context(), s.p.Partitions.First().Keys.Job(id), name).Bytes()
	if err != nil {
		s.Fatal(err)
	}
	return value
}

// SetField changes a field of a job's hash.
func (s States) SetField(id, name string, value []byte) {
	s.Helper()
	if err := s.p.Redis.HSet(s.Context(), s.p.Partitions.First().Keys.Job(id), name, value).Err(); err != nil {
		s.Fatal(err)
	}
}
