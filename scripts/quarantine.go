package scripts

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// QuarantineCap is about how many entries the quarantine keeps.
const QuarantineCap = 10_000

// Quarantine keeps an entry that cannot be used, with the reason; what is longer
// than 1 KB of it is cut.
func (s Streams) Quarantine(ctx context.Context, stream, entry string, fields map[string]string, reason string) error {
	c := redis.NewStringCmd(ctx, "xadd", s.Keys.Quarantined, "maxlen", "~", QuarantineCap, "*",
		"stream", stream, "entry", entry, "reason", reason, "fields", excerpt(fields))
	if err := s.do(ctx, c); err != nil {
		return err
	}
	return asError("quarantine", c.Err())
}

// ErrNotRequeued is matched by the refusals of Requeue.
var ErrNotRequeued = fault.Refused.New("not requeued")

// QuarantineEntry is an entry of a quarantine.
type QuarantineEntry struct {
	Entry  string // its name there
	Stream string // the stream or sorted set that it came from
	Fields string
}

// Origin returns the name of a stream or sorted set without the prefix of the keys and without
// a partition, also of one of another number of partitions: jobs, task:<listener>, delayed.
// It is empty if the key is not of Fanfold.
func (p Partitions) Origin(stream string) string {
	prefix := strings.TrimSuffix(strings.TrimPrefix(p.First().Keys.Prefix, "{"), "0}:")
	if name, ok := strings.CutPrefix(stream, prefix); ok {
		return name
	}
	tagged, _ := strings.CutPrefix(stream, "{"+prefix)
	if number, name, _ := strings.Cut(tagged, "}:"); len(tagged) < len(stream) &&
		strings.Trim(number, "0123456789") == "" {
		return name
	}
	return ""
}

// Requeue puts a quarantined entry back into the stream or sorted set that it came from, in the partition that its
// id or the name of its timer belongs to, and then removes it from the quarantine of from: a crash in between
// leaves it in both, as if it had been sent twice. What comes from a sorted set is due at that time. It returns
// the key, or an error that matches ErrNotRequeued if the entry cannot be used there.
func (p Partitions) Requeue(ctx context.Context, from *Scripts, a QuarantineEntry,
	due time.Time) (key string, err error) {
	refuse := func(why string) (string, error) { return "", fmt.Errorf("%w: %s", ErrNotRequeued, why) }
	fields, whole := ParseExcerpt(a.Fields)
	if !whole {
		return refuse("more than 1 KB was cut when it was quarantined")
	}
	id, name := fields["id"], fields["name"]
	member := "" // of a sorted set
	switch origin := p.Origin(a.Stream); {
	case origin == "delayed":
		later, err := job.ParseLater(fields["member"])
		if err != nil {
			return refuse(err.Error())
		}
		key, member = p.Of(later.ID).Keys.Delayed, later.String()
	case (origin == "timers" || origin == "fired" || origin == "finished") && !report.ValidTimer(name) &&
		!job.IsReceipt(name):
		return refuse("its name cannot be one of a timer")
	case origin == "timers":
		key, member = p.Of(name).Keys.Timers, name
	case origin == "fired", origin == "finished":
		key = p.Of(name).Keys.Prefix + origin
		delete(fields, "try")
	case origin == "jobs", origin == "fanin", origin == "fanin:large", origin == "reply",
		strings.HasPrefix(origin, "task:"):
		if !report.ValidID(id) {
			return refuse("its field id is missing, or does not match ^" + report.IDForm + "$: submit the right id")
		}
		key = p.Of(id).Keys.Prefix + origin
		if stream, ok := fields["reply_to"]; ok && !job.ValidReplyTo(stream, p.Of(id).Keys.Keys) {
			return refuse("its reply_to does not begin with " + p.Of(id).Keys.Replies +
				" (redis_keys.replies), or has characters that are not allowed: push the id again with another one, or without")
		}
		if origin == "jobs" {
			delete(fields, "polls") // the record is polled anew
		}
	default:
		return refuse(a.Stream + " is no stream of Fanfold")
	}
	if member != "" {
		n, err := from.rdb.ZAddNX(ctx, key, redis.Z{Score: float64(due.UnixMilli()), Member: member}).Result()
		if err != nil {
			return "", fmt.Errorf("requeue: %w", err)
		} else if n == 0 {
			return refuse(member + " is in " + key + " already")
		}
	} else {
		var values []string
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			values = append(values, name, fields[name])
		}
		if err := from.Streams.Append(ctx, key, 0, values...); err != nil {
			return "", err
		}
	}
	if err := from.rdb.XDel(ctx, from.Keys.Quarantined, a.Entry).Err(); err != nil {
		return key, fmt.Errorf("%s is in %s again, and still in the quarantine: %w", a.Entry, key, err)
	}
	return key, nil
}
