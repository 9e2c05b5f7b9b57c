package trigger

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
	"github.com/fanfold/fanfold/trace"
)

// intake takes the entries of a batch in.
type intake struct{ *engine.Engine }

// replyTo is the field of a push that names the service's stream for receipts.
const replyTo = "reply_to"

// errReplyTo is the error of a push that has an invalid reply_to.
const errReplyTo = "reply_to names a stream to which Fanfold may not write: the name must begin with %s (redis_keys.replies), " +
	"and have at most 200 characters of 0-9 A-Z a-z : . _ - and one {tag}; " +
	"push the id again with another name, or without reply_to"

var errTooManyReplies = errors.New(
	"too many other streams wait for receipts of this id; push it again later, or without reply_to")

// maxDeliveries is the maximum number of deliveries of a pushed id before it is quarantined as
// poison. The first three deliveries share a batch. In TestChaos, where workers live
// for a second, 40 % of those with a single id die: 17 such deaths in a row happen once in six
// million.
const maxDeliveries = 20

// poison is why such an id is quarantined.
var poison = fmt.Sprintf("%d workers crashed or fell silent while they handled this id", maxDeliveries)

// noteReplies stores which services want receipts before their pushes are handled further, because
// an id that waits has no other fields.
func (in intake) noteReplies(ctx context.Context, items []*item) {
	keys := in.Scripts.Keys
	var of []*item
	var pushes []string
	for _, i := range items {
		id := i.Fields["id"]
		stream, ok := i.Fields[replyTo]
		switch {
		case !report.ValidID(id):
		case i.Deliveries > maxDeliveries: // noted when it was delivered first, and quarantined now
			if err := step.Ensure(ctx, in.Log, "refuse a push", func() error {
				if err := in.Scripts.Receipts.Refuse(ctx, id, poison); err != nil {
					return err
				}
				return in.Scripts.Lanes.Leave(ctx, id)
			}); err != nil && !errors.Is(err, scripts.ErrBroken) {
				i.ends(step.Elsewhere, err)
			}
		case !ok:
		case !job.ValidReplyTo(stream, keys.Keys):
			i.ends(step.Unusable, fmt.Errorf(errReplyTo, keys.Replies))
		default:
			of, pushes = append(of, i), append(pushes, id, stream+"/"+i.ID)
		}
	}
	if len(of) == 0 {
		return
	}
	outcomes, err := step.Insist(ctx, in.Log, "note who wants receipts", func() ([]scripts.Outcome, error) {
		return in.Scripts.Receipts.Note(ctx, pushes...)
	})
	for k, i := range of {
		switch {
		case errors.Is(err, scripts.ErrBroken):
			i.ends(step.Unusable, err)
		case err != nil:
			i.ends(step.Elsewhere, err)
		case outcomes[k] != scripts.OK:
			i.ends(step.Unusable, errTooManyReplies)
		}
	}
}

// pushes returns the ids of entries that have no result yet, every id once. Entries without an id get
// their result.
func (in intake) pushes(items []*item, began time.Time) []*push {
	var pushes []*push
	byID := map[string]*push{}
	for _, i := range items {
		id, ok := i.Fields["id"]
		within, err := job.ParseAge(i.Fields[job.FresherThan])
		switch p := byID[id]; {
		case i.done:
		case i.Deliveries > maxDeliveries:
			i.ends(step.Unusable, errors.New(poison))
		case !ok:
			i.ends(step.Unusable, errors.New("the field id is missing: XADD "+in.Scripts.Keys.Jobs+" '*' id 1111"))
		case !report.ValidID(id):
			i.ends(step.Unusable, errors.New("the id does not match ^"+report.IDForm+"$"))
		case err != nil:
			i.ends(step.Unusable, fmt.Errorf("%s: %w", job.FresherThan, err))
		case p != nil:
			p.items, p.within = append(p.items, i), min(p.within, within)
		default:
			polls, _ := strconv.ParseInt(i.Fields["polls"], 10, 64)
			p := &push{
				items: []*item{i}, id: id, polls: max(polls, 0), trace: i.Fields[trace.Field], within: within,
				began: began,
			}
			byID[id] = p
			pushes = append(pushes, p)
		}
	}
	return pushes
}

const (
	// homeTime bounds the pushes of a batch to other partitions.
	homeTime = time.Second
	// homeAgain is the delay before an id is sent again to a partition that did not answer.
	homeAgain = 5 * time.Second
)

// sendToOwn pushes ids of other partitions to those. An id whose partition does not answer waits in
// this partition's delayed set, so that it blocks no other id.
func (in intake) sendToOwn(ctx context.Context, items []*item) {
	if len(in.Partitions) == 1 {
		return
	}
	limited, cancel := context.WithTimeout(ctx, homeTime)
	defer cancel()
	for _, i := range items {
		id := i.Fields["id"]
		home := in.Partitions.Of(id)
		if i.done || !report.ValidID(id) || home == in.Scripts || i.Deliveries > maxDeliveries {
			continue
		}
		i.ends(step.Void, nil)
		if in.sendReplies(limited, id, home) == nil && home.Streams.Push(limited, i.Fields) == nil {
			continue
		}
		if err := step.Ensure(ctx, in.Log, "delay an id of another partition", func() error {
			return in.Scripts.Clock.Delay(ctx, id, homeAgain)
		}); err != nil {
			i.ends(step.Elsewhere, err)
		}
	}
}

// sendReplies moves the noted streams of an id to its own partition.
func (in intake) sendReplies(ctx context.Context, id string, home *scripts.Scripts) error {
	pushes, err := in.Scripts.Receipts.Read(ctx, id)
	if err != nil || len(pushes) == 0 {
		return err
	}
	var noted []string
	for _, p := range pushes {
		noted = append(noted, id, p)
	}
	if _, err := home.Receipts.Note(ctx, noted...); err != nil {
		return err
	}
	return in.Scripts.Receipts.Forget(ctx, id)
}
