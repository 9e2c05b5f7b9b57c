package scripts

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TestDefinitions: what processes have said lately is live, a running job with another
// definition is an orphan, and one that is to fail is none.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	start := func(id, hash string) {
		t.Helper()
		next := attempt(id, time.Hour, "one")
		next.Definition = hash
		if _, err := s.Jobs.Start(ctx, "", next); err != nil {
			t.Fatal(err)
		}
	}
	start("1", "new")
	start("2", "old")
	start("3", "lost")
	start("4", "old")
	if _, _, err := s.Jobs.Cancel(ctx, "4", 1, "not wanted"); err != nil {
		t.Fatal(err)
	}
	if err := s.Definitions.Announce(ctx, []string{"r/new", "r/old"}); err != nil {
		t.Fatal(err)
	}
	client.ZAdd(ctx, s.Keys.Definitions,
		redis.Z{Member: "r/old", Score: float64(time.Now().Add(-2 * DefinitionTimeout).UnixMilli())},
		redis.Z{Member: "r/ancient", Score: float64(time.Now().Add(-2 * definitionKept).UnixMilli())})
	// One that is wanted keeps its time where it has one.
	if err := s.Definitions.NoteWanted(ctx, []string{"r/old"}); err != nil {
		t.Fatal(err)
	}
	found, seen, err := s.Definitions.Orphans(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, o := range found {
		ids = append(ids, o.ID)
		if o.Last.IsZero() != (o.ID == "3") || o.Attempt != 1 || o.Report != "r" {
			t.Errorf("%+v", o)
		}
	}
	if len(ids) != 2 || ids[0]+ids[1] != "23" && ids[0]+ids[1] != "32" {
		t.Errorf("orphans: %v", ids)
	}
	if !seen.Live("r/new") || seen.Live("r/old") || seen.Live("r/lost") || !seen.AnyLive() || !seen.Last["r/ancient"].IsZero() {
		t.Errorf("%+v", seen)
	}
	if ttl := client.PTTL(ctx, s.Keys.Definitions).Val(); ttl <= 0 {
		t.Errorf("TTL %v", ttl)
	}
}

// TestProcesses: one that runs says so again, one that ends says so, and one that is silent is
// removed by others, or with the key.
func TestProcesses(t *testing.T) {
	t.Parallel()
	s, client := newScripts(t)
	ctx := t.Context()
	client.ZAdd(ctx, s.Keys.Processes, redis.Z{Member: "silent", Score: float64(time.Now().Add(-2 * DefinitionTimeout).UnixMilli())})
	for _, process := range []string{"one", "two", "one"} {
		if err := s.Definitions.AnnounceProcess(ctx, process); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Definitions.EndProcess(ctx, "two"); err != nil {
		t.Fatal(err)
	}
	if found, err := s.Definitions.Processes(ctx); err != nil || len(found) != 1 || found[0] != "one" {
		t.Errorf("%q %v", found, err)
	}
	if ttl := client.PTTL(ctx, s.Keys.Processes).Val(); ttl <= 0 || ttl > DefinitionTimeout {
		t.Errorf("TTL %v", ttl)
	}
}
