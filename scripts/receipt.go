package scripts

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts/job"
)

const (
	maxReplies              = 8                       // maximum number of streams that an id has at once
	replyCap                = 100_000                 // about how many entries the stream of a service keeps
	knownReceipts, knownFor = 100_000, 24 * time.Hour // receipts of a stream that are not sent twice, and for how long
)

// Note stores who wants receipts, as pairs of an id and stream/entry, which name the stream of a service and the entry
// of its push: OK, or Busy if the id has maxReplies other streams. Of a stream that the id has already the first
// entry stays.
func (s Receipts) Note(ctx context.Context, pushes ...string) ([]Outcome, error) {
	c := call(ctx, "reply_to", []string{s.Keys.ReplyTo}, append([]any{maxReplies}, asArgs(pushes)...)...)
	if err := s.do(ctx, c); err != nil {
		return nil, err
	}
	return outcomesOf(c, len(pushes)/2)
}

// Read returns what Note has stored for an id, each as stream/entry.
func (s Receipts) Read(ctx context.Context, id string) ([]string, error) {
	pushes, err := s.rdb.HGet(ctx, s.Keys.ReplyTo, id).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return strings.Fields(pushes), asError("read reply_to", err)
}

// Forget removes what Note has stored for an id.
func (s Receipts) Forget(ctx context.Context, id string) error {
	return s.send(ctx, redis.NewIntCmd(ctx, "hdel", s.Keys.ReplyTo, id))
}

// Ended appends the firings that report the end of an attempt without a state: the one for the service that
// its report names, if notify, and the receipts. Those of the others Settle appends.
func (s Receipts) Ended(ctx context.Context, id string, attempt int64, notify bool) error {
	name := ""
	if notify {
		name = job.EndOf(id, attempt)
	}
	return s.notify(ctx, id, name, job.EndedWithoutJob(attempt))
}

// Refuse appends the receipts of a push that has started nothing, unless its id has a job: Settle appends
// those of a job.
func (s Receipts) Refuse(ctx context.Context, id, why string) error {
	return s.notify(ctx, id, "", job.Refused(why))
}

func (s Receipts) notify(ctx context.Context, id, name, middle string) error {
	_, err := s.outcome(ctx, call(ctx, "notify", []string{s.Keys.Finished, s.Keys.ReplyTo, s.Keys.Job(id)}, id,
		name, middle))
	return err
}

// Deliver appends entries to the stream of a service, each once. It returns ErrBroken if the key is not a stream.
func (s Receipts) Deliver(ctx context.Context, stream string, entries ...job.Entry) error {
	args := []any{replyCap, knownReceipts, knownFor.Milliseconds()}
	for _, e := range entries {
		args = append(append(args, e.Name, len(e.Fields)), e.Fields...)
	}
	_, err := s.outcome(ctx, call(ctx, "deliver", []string{stream, job.KnownReceipts(stream, s.Keys.Prefix)}, args...))
	return err
}
