package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/words"
	"github.com/fanfold/fanfold/scripts"
)

// checkStreams checks that every stream has a live reader.
func (d redisDoctor) checkStreams(ctx context.Context, s *scripts.Scripts) Findings {
	seen, err := s.Definitions.Seen(ctx)
	serving := err == nil && seen.AnyLive() // processes run, which may all leave out the same listener
	streams := d.Config.Readers(s.Keys)
	var fs Findings
	for _, key := range slices.Sorted(maps.Keys(streams)) {
		fs = append(fs, d.checkStream(ctx, key, streams[key], serving))
	}
	return fs
}

func (d redisDoctor) checkStream(ctx context.Context, key string, by inspect.Reader, serving bool) Finding {
	check, start := "stream "+key, "fanfold serve"
	if by.External {
		start = "the service of this listener"
	}
	groups, err := d.Redis.XInfoGroups(ctx, key).Result()
	missing := err != nil && strings.Contains(err.Error(), "no such key")
	if err != nil && !missing {
		return newFinding(check, Fail, "", err, "check the type of this key: it must be a stream")
	}
	length, err := d.Redis.XLen(ctx, key).Result()
	if err != nil {
		return newFinding(check, Fail, "", err, "")
	}
	var group redis.XInfoGroup
	var consumers []redis.XInfoConsumer
	i := slices.IndexFunc(groups, func(g redis.XInfoGroup) bool { return g.Name == scripts.Group })
	if i >= 0 {
		group = groups[i]
		if consumers, err = d.Redis.XInfoConsumers(ctx, key, scripts.Group).Result(); err != nil {
			return newFinding(check, Fail, "", err, "")
		}
	}
	detail, alive := fmt.Sprintf("%s, %d of them in work, %s", words.Count(length, "entry"), group.Pending, words.Count(group.Consumers, "consumer")), slices.ContainsFunc(consumers, by.Alive)
	switch {
	case serving && !alive && by.Listener != "" && !by.External:
		return newFinding(check, Warn, "", errors.New("processes run, but none of them runs this listener"), "restart fanfold serve if you have just added it; otherwise start it with this listener: --listeners may exclude it in every process")
	case missing:
		return pass(check, "it does not exist yet: fanfold serve makes it")
	case i < 0:
		return pass(check, words.Count(length, "entry")+", no group yet: fanfold serve makes it")
	case group.Consumers == 0 && length > 0:
		return newFinding(check, Warn, "", errors.New(detail), "it has no reader: start "+start)
	case alive:
		return pass(check, detail)
	}
	heard := lastHeard(consumers)
	waits, err := d.unread(ctx, key, group.LastDeliveredID)
	switch {
	case err != nil:
		return newFinding(check, Fail, "", err, "")
	case waits > unreadAfter:
		err = fmt.Errorf("%s; none of them reads, and the oldest unread entry has waited for %s", detail, words.Short(waits))
	case group.Pending > 0 && heard > by.Silence:
		err = fmt.Errorf("%s; all of them have been silent for %s, and the entries in work stand still", detail, words.Short(heard))
	}
	return newFinding(check, Warn, detail, err, "start "+start+", or read its log if it runs")
}

// unreadAfter is the maximum time that an entry stays unread if a consumer is idle, with a margin.
const unreadAfter = 3 * time.Second

// lastHeard returns the time since the last command of any consumer.
func lastHeard(consumers []redis.XInfoConsumer) (ago time.Duration) {
	for i, c := range consumers {
		if i == 0 || c.Idle < ago {
			ago = c.Idle
		}
	}
	return ago
}

// unread returns how long the oldest unread entry has waited; 0: there is none.
func (d redisDoctor) unread(ctx context.Context, name, last string) (time.Duration, error) {
	entries, err := d.Redis.XRangeN(ctx, name, "("+last, "+", 1).Result()
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	now, err := d.Scripts.First().Now(ctx)
	return now.Sub(scripts.EntryTime(entries[0].ID)), err
}
