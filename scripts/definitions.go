package scripts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/scripts/job"
)

const (
	// AnnounceEvery is how often a process reports that it runs and which definitions it has.
	AnnounceEvery = 2 * time.Second
	// DefinitionTimeout is the time without a report after which a process counts as ended, and a
	// definition as one that no process has.
	DefinitionTimeout = 8 * time.Second
	// definitionKept is how long a definition that no process has is kept.
	definitionKept = 7 * 24 * time.Hour
)

// DefinitionMember names a definition in Definitions.
func DefinitionMember(report, hash string) string { return report + "/" + hash }

// Announce says that this process has definitions, which are members of Definitions.
func (s Definitions) Announce(ctx context.Context, definitions []string) error {
	return s.announce(ctx, s.shared.Definitions, "", definitionKept, definitions)
}

// AnnounceProcess reports that a process runs. Its name is one of report.Process.
func (s Definitions) AnnounceProcess(ctx context.Context, process string) error {
	return s.announce(ctx, s.shared.Processes, "", DefinitionTimeout, []string{process})
}

// EndProcess removes a process that has ended.
func (s Definitions) EndProcess(ctx context.Context, process string) error {
	return s.send(ctx, redis.NewIntCmd(ctx, "zrem", s.shared.Processes, process))
}

// Processes returns the processes that run. One that was killed is among them for DefinitionTimeout,
// and while others run for AnnounceEvery longer.
func (s Definitions) Processes(ctx context.Context) ([]string, error) {
	found, err := s.rdb.ZRange(ctx, s.shared.Processes, 0, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("processes: %w", err)
	}
	return found, nil
}

// NoteWanted notes definitions that jobs need and that no process is known to have had.
func (s Definitions) NoteWanted(ctx context.Context, definitions []string) error {
	return s.announce(ctx, s.shared.Definitions, "NX", definitionKept, definitions)
}

func (s Definitions) announce(ctx context.Context, key, only string, kept time.Duration, members []string) error {
	args := append([]any{only, kept.Milliseconds()}, asArgs(members)...)
	_, err := s.outcome(ctx, call(ctx, "announce", []string{key}, args...))
	return err
}

// Now returns the time by the clock of the server that has the definitions.
func (s Definitions) Now(ctx context.Context) (time.Time, error) {
	node, err := redisdb.Master(ctx, s.rdb, s.shared.Wake)
	if err != nil {
		return time.Time{}, err
	}
	return node.Time(ctx).Result()
}

// Seen says when processes last had definitions, by the server's clock.
type Seen struct {
	Now  time.Time
	Last map[string]time.Time // by member of Definitions
}

// Live tells whether some process has a definition.
func (s Seen) Live(member string) bool {
	last, ok := s.Last[member]
	return ok && s.Now.Sub(last) < DefinitionTimeout
}

// AnyLive tells whether any process says which definitions it has.
func (s Seen) AnyLive() bool {
	for member := range s.Last {
		if s.Live(member) {
			return true
		}
	}
	return false
}

// Seen returns which definitions processes have.
func (s Definitions) Seen(ctx context.Context) (Seen, error) {
	seen := Seen{Last: map[string]time.Time{}}
	members, err := s.rdb.ZRangeWithScores(ctx, s.shared.Definitions, 0, -1).Result()
	if err != nil {
		return seen, fmt.Errorf("definitions: %w", err)
	}
	if seen.Now, err = s.Now(ctx); err != nil {
		return seen, fmt.Errorf("time of Redis: %w", err)
	}
	for _, m := range members {
		if name, ok := m.Member.(string); ok {
			seen.Last[name] = time.UnixMilli(int64(m.Score))
		}
	}
	return seen, nil
}

// Orphan is a running job whose definition no process has.
type Orphan struct {
	ID         string
	Attempt    int64
	Report     string
	Definition string    // its hash
	Last       time.Time // when a process had it; zero: not known
}

// Member names the definition of the job in Definitions.
func (o Orphan) Member() string { return DefinitionMember(o.Report, o.Definition) }

// Orphans returns the running jobs whose definition no process has, without those that are
// to fail, which need none.
func (s Definitions) Orphans(ctx context.Context) ([]Orphan, Seen, error) {
	seen, err := s.Seen(ctx)
	if err != nil {
		return nil, seen, err
	}
	const page = 500
	var found []Orphan
	for start := int64(0); ; start += page {
		ids, err := s.rdb.ZRange(ctx, s.Keys.Deadlines, start, start+page-1).Result()
		if err != nil {
			return nil, seen, fmt.Errorf("running jobs: %w", err)
		}
		cmds := make([]redis.Cmder, len(ids))
		for i, id := range ids {
			cmds[i] = redis.NewStringCmd(ctx, "hget", s.Keys.Job(id), "job")
		}
		if err := s.do(ctx, cmds...); err != nil {
			return nil, seen, fmt.Errorf("states: %w", err)
		}
		for i, c := range cmds {
			state, err := job.ParseLine(c.(*redis.StringCmd).Val())
			if err != nil {
				if err := c.Err(); err != nil && !errors.Is(err, redis.Nil) && !redis.HasErrorPrefix(err, "WRONGTYPE") {
					return nil, seen, fmt.Errorf("states: %w", err)
				}
				continue // it has ended, or it is not a state
			}
			o := Orphan{ID: ids[i], Attempt: state.Attempt, Report: state.Report, Definition: state.Definition}
			if !state.NeedsDefinition() || seen.Live(o.Member()) {
				continue
			}
			o.Last = seen.Last[o.Member()]
			found = append(found, o)
		}
		if len(ids) < page {
			return found, seen, nil
		}
	}
}
