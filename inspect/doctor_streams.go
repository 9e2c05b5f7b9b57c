package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/redis/go-redis/v9"
)

// checkStreams tells of streams that have no reader, or that pile up.
func (d redisDoctor) checkStreams(ctx context.Context, s *scripts.Scripts) Findings {
	names := []string{s.Keys.Jobs(), s.Keys.FanIn(), s.Keys.FanInLarge(), s.Keys.Fired()}
	services := map[string]time.Duration{} // streams that an external service reads → its silence
	for _, r := range d.o.Config.Reports {
		for _, l := range r.Listeners() {
			task := s.Keys.Task(l.Name)
			names = append(names, task)
			if l.Kind == report.External {
				services[task] = max(services[task], l.Silence)
			}
		}
	}
	if len(services) > 0 {
		names = append(names, s.Keys.Reply())
	}
	slices.Sort(names)
	seen, err := s.Definitions.Seen(ctx)
	serving := err == nil && seen.AnyLive() // processes that might each leave out the same listener
	var fs Findings
	for _, name := range slices.Compact(names) {
		reader, silence := "fanfold serve", d.o.Config.Limits.Lease
		if serving && strings.HasPrefix(name, s.Keys.Task("")) && services[name] == 0 && !d.isRead(ctx, name) {
			err := errors.New("processes run, and none of them runs this listener")
			fs = append(fs, newFinding("stream "+name, Warn, "", err, "start fanfold serve with it: --listeners may leave it out everywhere"))
			continue
		}
		if of := services[name]; of > 0 {
			reader, silence = "the service of this listener", of
		}
		fs = append(fs, d.checkStream(ctx, name, reader, silence))
	}
	return fs
}

// isRead tells whether a worker reads a stream, or has not answered yet.
func (d redisDoctor) isRead(ctx context.Context, name string) bool {
	consumers, err := d.o.Redis.XInfoConsumers(ctx, name, scripts.Group).Result()
	if err != nil && !missing(err) {
		return true
	}
	_, alive := lastHeard(consumers, d.o.Config.Limits.Lease)
	return alive
}

func (d redisDoctor) checkStream(ctx context.Context, name, reader string, silence time.Duration) Finding {
	check := "stream " + name
	groups, err := d.o.Redis.XInfoGroups(ctx, name).Result()
	if err != nil && strings.Contains(err.Error(), "no such key") {
		return pass(check, "not there yet: fanfold serve makes it")
	} else if err != nil {
		return newFinding(check, Fail, "", err, "is this key something else than a stream?")
	}
	length, err := d.o.Redis.XLen(ctx, name).Result()
	if err != nil {
		return newFinding(check, Fail, "", err, "")
	}
	for _, g := range groups {
		if g.Name != scripts.Group {
			continue
		}
		detail := fmt.Sprintf("%d entries, %d of them in work, %d consumers", length, g.Pending, g.Consumers)
		if g.Consumers == 0 && length > 0 {
			return newFinding(check, Warn, detail, errors.New(detail), "it has no reader: start "+reader)
		}
		consumers, err := d.o.Redis.XInfoConsumers(ctx, name, scripts.Group).Result()
		if err != nil {
			return newFinding(check, Fail, "", err, "")
		}
		heard, alive := lastHeard(consumers, silence)
		if !alive {
			waits, failure := d.unread(ctx, name, g.LastDeliveredID)
			switch {
			case failure != nil:
				return newFinding(check, Fail, "", failure, "")
			case waits > unreadAfter:
				err = fmt.Errorf("%s; none of them reads, and the oldest entry has waited for %s", detail, short(waits))
			case g.Pending > 0 && heard > silence:
				err = fmt.Errorf("%s; none of them was heard for %s: what they had in work stands still", detail, short(heard))
			}
		}
		return newFinding(check, Warn, detail, err, "is it still running? Start "+reader+", or look at its log")
	}
	return pass(check, fmt.Sprintf("%d entries, no group yet: fanfold serve makes it", length))
}

// unreadAfter is how long an unread entry may wait, although there are
// consumers: those that wait for entries get it at once.
const unreadAfter = 3 * time.Second

// lastHeard is how long ago a consumer was heard last, and whether any lives: one that waits for
// entries is heard every second, and one that works within its silence.
func lastHeard(consumers []redis.XInfoConsumer, silence time.Duration) (ago time.Duration, alive bool) {
	for i, c := range consumers {
		if i == 0 || c.Idle < ago {
			ago = c.Idle
		}
		alive = alive || c.Idle < unreadAfter || c.Pending > 0 && c.Idle < silence
	}
	return ago, alive
}

// unread is how long the oldest entry has waited that no consumer has read; 0: there is none.
func (d redisDoctor) unread(ctx context.Context, name, last string) (time.Duration, error) {
	entries, err := d.o.Redis.XRangeN(ctx, name, "("+last, "+", 1).Result()
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	now, err := d.o.Scripts.Home().Now(ctx)
	return now.Sub(entryTime(entries[0].ID)), err
}
