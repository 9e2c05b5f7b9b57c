package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/scripts"
	"github.com/redis/go-redis/v9"
)

// checkStreams tells of streams that have no reader, or that pile up.
func (d redisDoctor) checkStreams(ctx context.Context, s *scripts.Scripts) Findings {
	streams := d.in.Readers(s.Keys)
	seen, err := s.Definitions.Seen(ctx)
	serving := err == nil && seen.AnyLive() // processes that might each leave out the same listener
	var fs Findings
	for _, name := range slices.Sorted(maps.Keys(streams)) {
		if by := streams[name]; serving && by.Listener != "" && !by.External && !d.isRead(ctx, name, by) {
			err := errors.New("processes run, and none of them runs this listener")
			fs = append(fs, newFinding("stream "+name, Warn, "", err, "start fanfold serve with it: --listeners may leave it out everywhere"))
			continue
		}
		fs = append(fs, d.checkStream(ctx, name, streams[name]))
	}
	return fs
}

// readerOf is what an operator starts.
func readerOf(by inspect.Reader) string {
	if by.External {
		return "the service of this listener"
	}
	return "fanfold serve"
}

// isRead tells whether a worker reads a stream, or has not answered yet.
func (d redisDoctor) isRead(ctx context.Context, name string, by inspect.Reader) bool {
	consumers, err := d.Redis.XInfoConsumers(ctx, name, scripts.Group).Result()
	if err != nil && !redis.HasErrorPrefix(err, "NOGROUP") && !strings.Contains(err.Error(), "no such key") {
		return true
	}
	return slices.ContainsFunc(consumers, by.Alive)
}

func (d redisDoctor) checkStream(ctx context.Context, name string, by inspect.Reader) Finding {
	check := "stream " + name
	groups, err := d.Redis.XInfoGroups(ctx, name).Result()
	if err != nil && strings.Contains(err.Error(), "no such key") {
		return pass(check, "not there yet: fanfold serve makes it")
	} else if err != nil {
		return newFinding(check, Fail, "", err, "is this key something else than a stream?")
	}
	length, err := d.Redis.XLen(ctx, name).Result()
	if err != nil {
		return newFinding(check, Fail, "", err, "")
	}
	for _, g := range groups {
		if g.Name != scripts.Group {
			continue
		}
		detail := fmt.Sprintf("%d entries, %d of them in work, %d consumers", length, g.Pending, g.Consumers)
		if g.Consumers == 0 && length > 0 {
			return newFinding(check, Warn, detail, errors.New(detail), "it has no reader: start "+readerOf(by))
		}
		consumers, err := d.Redis.XInfoConsumers(ctx, name, scripts.Group).Result()
		if err != nil {
			return newFinding(check, Fail, "", err, "")
		}
		if !slices.ContainsFunc(consumers, by.Alive) {
			heard := lastHeard(consumers)
			waits, failure := d.unread(ctx, name, g.LastDeliveredID)
			switch {
			case failure != nil:
				return newFinding(check, Fail, "", failure, "")
			case waits > unreadAfter:
				err = fmt.Errorf("%s; none of them reads, and the oldest entry has waited for %s", detail, inspect.Short(waits))
			case g.Pending > 0 && heard > by.Silence:
				err = fmt.Errorf("%s; none of them was heard for %s: what they had in work stands still", detail, inspect.Short(heard))
			}
		}
		return newFinding(check, Warn, detail, err, "is it still running? Start "+readerOf(by)+", or look at its log")
	}
	return pass(check, fmt.Sprintf("%d entries, no group yet: fanfold serve makes it", length))
}

// unreadAfter is how long an unread entry may wait, although there are
// consumers: those that wait for entries get it at once.
const unreadAfter = 3 * time.Second

// lastHeard is how long ago a consumer was heard last.
func lastHeard(consumers []redis.XInfoConsumer) (ago time.Duration) {
	for i, c := range consumers {
		if i == 0 || c.Idle < ago {
			ago = c.Idle
		}
	}
	return ago
}

// unread is how long the oldest entry has waited that no consumer has read; 0: there is none.
func (d redisDoctor) unread(ctx context.Context, name, last string) (time.Duration, error) {
	entries, err := d.Redis.XRangeN(ctx, name, "("+last, "+", 1).Result()
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	now, err := d.Scripts.Home().Now(ctx)
	return now.Sub(scripts.EntryTime(entries[0].ID)), err
}
