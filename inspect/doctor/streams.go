package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/scripts"
)

// checkStreams checks that every stream has a live reader.
func checkStreams(ctx context.Context, d *doctor) (all Findings) {
	for _, s := range d.Scripts {
		seen, err := s.Definitions.Seen(ctx)
		serving := err == nil && seen.AnyLive() // processes run, which may all leave out the same listener
		streams := d.Config.Readers(s.Keys)
		for _, key := range slices.Sorted(maps.Keys(streams)) {
			all = append(all, checkStream(ctx, s, key, streams[key], serving))
		}
	}
	return all
}

func checkStream(ctx context.Context, s *scripts.Scripts, key string, by inspect.Reader, serving bool) Finding {
	check, start := "stream "+key, "fanfold serve"
	if by.External {
		start = "the service of this listener"
	}
	found, err := s.Entries.Stream(ctx, key)
	if err != nil {
		return newFinding(check, Fail, "", err, "check the type of this key: it must be a stream")
	}
	alive := slices.ContainsFunc(found.Consumers, by.Alive)
	detail := fmt.Sprintf("%s, %s of them in work, %s", words.Count(found.Length, "entry"),
		words.Grouped(found.Pending),
		words.Count(int64(len(found.Consumers)), "consumer"))
	switch {
	case serving && !alive && by.Listener != "" && !by.External:
		return newFinding(check, Warn, "", errors.New("processes run, but none of them runs this listener"),
			"restart fanfold serve if you have just added it; otherwise start it with this listener: --listeners may exclude "+
				"it in every process")
	case !found.Exists:
		return pass(check, "it does not exist yet: fanfold serve makes it")
	case found.Read == "":
		return pass(check, words.Count(found.Length, "entry")+", no group yet: fanfold serve makes it")
	case len(found.Consumers) == 0 && found.Length > 0:
		return newFinding(check, Warn, "", errors.New(detail), "it has no reader: start "+start)
	case alive:
		return pass(check, detail)
	}
	heard := lastHeard(found.Consumers)
	waits, err := unread(ctx, s, key, found.Read)
	switch {
	case err != nil:
		return newFinding(check, Fail, "", err, "")
	case waits > unreadAfter:
		err = fmt.Errorf("%s; none of them reads, and the oldest unread entry has waited for %s", detail,
			words.Short(waits))
	case found.Pending > 0 && heard > by.Silence:
		err = fmt.Errorf("%s; all of them have been silent for %s, and the entries in work stand still", detail,
			words.Short(heard))
	}
	return newFinding(check, Warn, detail, err, "start "+start+", or read its log if it runs")
}

// unreadAfter is the maximum time that an entry stays unread if a consumer is idle, with a margin.
const unreadAfter = 3 * time.Second

// lastHeard returns the time since the last command of any consumer.
func lastHeard(consumers []scripts.Consumer) (ago time.Duration) {
	for i, c := range consumers {
		if i == 0 || c.Idle < ago {
			ago = c.Idle
		}
	}
	return ago
}

// unread returns how long the oldest unread entry of a stream has waited; 0: there is none.
func unread(ctx context.Context, s *scripts.Scripts, stream, last string) (time.Duration, error) {
	entries, _, err := s.Entries.After(ctx, stream, last)
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	now, err := s.Now(ctx)
	return now.Sub(scripts.EntryTime(entries[0].ID)), err
}
