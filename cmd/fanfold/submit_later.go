package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/scripts"
)

// later is when a submit is due that is not for now.
type later struct {
	in time.Duration
	at string
}

func (l later) given() bool { return l.in != 0 || l.at != "" }

// check proves the flags, and reads the time of --at in a zone.
func (l later) check(wait bool, zone *time.Location) (time.Time, error) {
	var at time.Time
	var err error
	switch {
	case l.given() && wait:
		err = errors.New("--wait waits for jobs that run now: leave it out with --in and --at")
	case l.in != 0 && l.at != "":
		err = errors.New("--in and --at: give one of them")
	case l.in < 0:
		err = fmt.Errorf("--in: %v is in the past", l.in)
	case l.at != "":
		if at, err = parseTime(l.at, zone); err == nil && time.Since(at) > past {
			err = fmt.Errorf("--at: %s is in the past; without --in and --at it is due now", inspect.Stamp(at))
		}
	}
	if err == nil && max(l.in, time.Until(at)) > scripts.Horizon {
		err = errors.New("--in and --at: more than ten years away")
	}
	if err != nil {
		return at, usage(err)
	}
	return at, nil
}

// past is how long ago a time may be that was just now when somebody wrote it.
const past = time.Minute

// parseTime reads RFC 3339, a date and time in a zone, or unix seconds or
// milliseconds.
func parseTime(text string, zone *time.Location) (time.Time, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		switch len(text) {
		case 10:
			return time.Unix(n, 0), nil
		case 13:
			return time.UnixMilli(n), nil
		}
		return time.Time{}, fmt.Errorf("--at: %s is no time: unix seconds have 10 digits, milliseconds 13", text)
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04", time.DateTime} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("--at: %q is none of 2024-06-01T09:30:00+02:00, '2024-06-01 09:30' (local) and unix seconds or milliseconds", text)
}

// delay puts ids into the delayed set: due at a time, or in a while by Redis's
// clock where that is zero.
func (b *backend) delay(ctx context.Context, ids []string, at time.Time, in time.Duration) (delayedMembers, error) {
	if at.IsZero() {
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(64) // those at once share round trips
		for _, id := range ids {
			group.Go(func() error { return b.scripts.Delay(ctx, id, in) })
		}
		if err := group.Wait(); err != nil {
			return nil, fmt.Errorf("delay: %w", err)
		}
	} else {
		for page := range slices.Chunk(ids, scanPage) {
			members := make([]redis.Z, len(page))
			for i, id := range page {
				members[i] = redis.Z{Score: float64(at.UnixMilli()), Member: id}
			}
			if err := b.redis.ZAdd(ctx, b.scripts.Delayed(), members...).Err(); err != nil {
				return nil, fmt.Errorf("delay: %w", err)
			}
		}
	}
	now, err := b.redis.Time(ctx).Result()
	if err != nil {
		return nil, err
	}
	if at.IsZero() {
		at = now.Add(in)
	}
	list := make(delayedMembers, len(ids))
	for i, id := range ids {
		list[i] = inspect.NewDelayed(id, float64(at.UnixMilli()), now)
	}
	return list, nil
}
