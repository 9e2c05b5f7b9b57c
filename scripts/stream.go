package scripts

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/redis/go-redis/v9"
)

// Group is the consumer group of every stream that Fanfold reads.
const Group = "fanfold"

// AuditCap is about how many acts the audit stream keeps.
const AuditCap = 10_000

// Entry is an entry of a stream.
type Entry struct {
	Stream     string
	Consumer   string // for which it is pending; empty: not known
	ID         string
	Fields     map[string]string
	Deliveries int64 // how often it was delivered, including this time; 0: not known
}

// EntriesOf returns the entries of a stream that Redis has sent to a consumer.
func EntriesOf(stream, consumer string, messages []redis.XMessage) []Entry {
	entries := make([]Entry, len(messages))
	for i, m := range messages {
		entries[i] = Entry{Stream: stream, Consumer: consumer, ID: m.ID, Fields: make(map[string]string, len(m.Values))}
		for name, value := range m.Values {
			entries[i].Fields[name], _ = value.(string)
		}
	}
	return entries
}

// Message names the attempt of a job that an entry is about.
type Message struct {
	ID      string
	Attempt int64
}

// Message returns what the entry is about. It returns false if id or attempt is missing or not valid.
func (e Entry) Message() (Message, bool) {
	attempt, err := strconv.ParseInt(e.Fields["attempt"], 10, 64)
	return Message{e.Fields["id"], attempt}, report.ValidID(e.Fields["id"]) && err == nil && attempt > 0
}

// EntryTime is when an entry was appended, by Redis's clock.
func EntryTime(id string) time.Time {
	ms, _, _ := strings.Cut(id, "-")
	n, _ := strconv.ParseInt(ms, 10, 64)
	return time.UnixMilli(n)
}

// Ack acknowledges and removes entries of a stream, atomically. It is the last act for a message: its effect must
// exist in Redis or MySQL before.
func (s Streams) Ack(ctx context.Context, stream string, entries ...string) error {
	_, err := s.outcome(ctx, call(ctx, "ack", []string{stream}, append([]any{Group}, asArgs(entries)...)...))
	return err
}

// Push appends the entry of an id to the stream into which services push.
func (s Streams) Push(ctx context.Context, fields map[string]string) error {
	args := []any{"xadd", s.Keys.Jobs, "*"}
	for name, value := range fields {
		args = append(args, name, value)
	}
	return s.send(ctx, redis.NewStringCmd(ctx, args...))
}

// Renew renews the lease of an entry that a consumer works on. It is false if the entry is no
// longer that consumer's.
func (s Streams) Renew(ctx context.Context, stream, consumer, entry string) (bool, error) {
	outcome, err := s.outcome(ctx, call(ctx, "renew_entry", []string{stream}, Group, consumer, entry))
	return outcome == OK, err
}

// Append appends an entry to a stream, which keeps about that many entries; 0: all. It
// returns ErrBroken if the key is not a stream.
func (s Streams) Append(ctx context.Context, stream string, keep int64, fields ...string) error {
	args := []any{"xadd", stream}
	if keep > 0 {
		args = append(args, "maxlen", "~", keep)
	}
	c := redis.NewStringCmd(ctx, append(append(args, "*"), asArgs(fields)...)...)
	if err := s.do(ctx, c); err != nil {
		return err
	}
	return asError("append to "+stream, c.Err())
}

// Remove removes entries of a stream that no group reads, and returns how many existed.
func (s Streams) Remove(ctx context.Context, stream string, entries ...string) (int64, error) {
	c := redis.NewIntCmd(ctx, append([]any{"xdel", stream}, asArgs(entries)...)...)
	err := s.send(ctx, c)
	return c.Val(), err
}

// movedField marks an entry that was moved.
const movedField = "moved"

// MoveToEnd moves a pending entry to the end of its stream, atomically. A task must then be taken:
// its message no longer says what a first delivery needs.
func (s Streams) MoveToEnd(ctx context.Context, e Entry) error {
	args := []any{Group, e.ID}
	for name, value := range e.Fields {
		if name != "of" && name != "parameters" && name != movedField {
			args = append(args, name, value)
		}
	}
	args = append(args, movedField, 1)
	_, err := s.outcome(ctx, call(ctx, "move_to_end", []string{e.Stream}, args...))
	return err
}

// MaxIdle is the time without a read after which a consumer counts as dead. Readers read at least
// every few seconds.
const MaxIdle = 2 * time.Minute

// RemoveIdleConsumers removes the consumers of a stream that have been idle for that long and have
// nothing pending, and returns how many it removed.
func (s Streams) RemoveIdleConsumers(ctx context.Context, stream string, idle time.Duration) (int64, error) {
	n, err := s.outcome(ctx, call(ctx, "remove_consumers", []string{stream}, Group, idle.Milliseconds(), 100, ""))
	return int64(n), err
}

// RemoveConsumer removes a consumer of a stream that reads no more, unless an entry is pending for it.
func (s Streams) RemoveConsumer(ctx context.Context, stream, consumer string) error {
	_, err := s.outcome(ctx, call(ctx, "remove_consumers", []string{stream}, Group, 0, 1, consumer))
	return err
}
