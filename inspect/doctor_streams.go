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
)

// checkStreams tells of streams that have no reader, or that pile up.
func (d redisDoctor) checkStreams(ctx context.Context) Findings {
	names := []string{d.scripts.Jobs(), d.scripts.FanIn(), d.scripts.Fired()}
	services := map[string]time.Duration{} // streams that an external service reads → its silence
	for _, r := range d.config.Reports {
		for _, s := range r.Stages {
			for _, l := range s.Listeners {
				names = append(names, d.scripts.Task(l.Name))
				if l.Kind == report.External {
					services[d.scripts.Task(l.Name)] = max(services[d.scripts.Task(l.Name)], l.Silence)
				}
			}
		}
	}
	if len(services) > 0 {
		names = append(names, d.scripts.Reply())
	}
	slices.Sort(names)
	var fs Findings
	for _, name := range slices.Compact(names) {
		reader, silence := "fanfold serve", d.config.Limits.Lease
		if of := services[name]; of > 0 {
			reader, silence = "the service of this listener", of
		}
		fs = append(fs, d.checkStream(ctx, name, reader, silence))
	}
	return fs
}

func (d redisDoctor) checkStream(ctx context.Context, name, reader string, silence time.Duration) Finding {
	check := "stream " + name
	groups, err := d.redis.XInfoGroups(ctx, name).Result()
	if err != nil && strings.Contains(err.Error(), "no such key") {
		return Finding{Check: check, Result: Pass, Detail: "not there yet: fanfold serve makes it"}
	} else if err != nil {
		return newFinding(check, Fail, "", err, "is this key something else than a stream?")
	}
	length, err := d.redis.XLen(ctx, name).Result()
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
		waits, err := d.unread(ctx, name, g.LastDeliveredID, silence)
		if err != nil {
			return newFinding(check, Fail, "", err, "")
		}
		if waits > unreadAfter {
			err = fmt.Errorf("%s; none of them reads, and the oldest entry has waited for %s", detail, short(waits))
		}
		return newFinding(check, Warn, detail, err, "is it still running? Start "+reader+", or look at its log")
	}
	return Finding{Check: check, Result: Pass, Detail: fmt.Sprintf("%d entries, no group yet: fanfold serve makes it", length)}
}

// unreadAfter is how long an unread entry may wait, although there are
// consumers: those that wait for entries get it at once.
const unreadAfter = 3 * time.Second

// unread is how long the oldest entry has waited that no consumer has read, where none of
// them has been heard lately; 0 where there is none. A consumer that works is heard within
// its silence.
func (d redisDoctor) unread(ctx context.Context, name, last string, silence time.Duration) (time.Duration, error) {
	entries, err := d.redis.XRangeN(ctx, name, "("+last, "+", 1).Result()
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	consumers, err := d.redis.XInfoConsumers(ctx, name, scripts.Group).Result()
	if err != nil {
		return 0, err
	}
	for _, c := range consumers {
		if c.Idle < unreadAfter || c.Pending > 0 && c.Idle < silence {
			return 0, nil
		}
	}
	now, err := d.redis.Time(ctx).Result()
	return now.Sub(entryTime(entries[0].ID)), err
}
