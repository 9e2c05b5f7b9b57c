package trigger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
)

// replyTo is the field of a push that names the service's stream for receipts.
const replyTo = "reply_to"

// reasonReplyTo says what is wrong with a push that has an invalid reply_to.
const reasonReplyTo = "reply_to names a stream to which Fanfold may not write: the name must begin with %s (keys.replies), and have at most 200 characters of 0-9 A-Z a-z : . _ - and one {tag}; push the id again with another name, or without reply_to"

// noteReplies stores which services want receipts before their pushes are handled further, because
// an id that waits has no other fields. It returns the entries; unusable ones have their result and
// no fields.
func (t *Trigger) noteReplies(ctx context.Context, entries []step.Entry, results []step.Result) []step.Entry {
	if !slices.ContainsFunc(entries, func(entry step.Entry) bool {
		_, ok := entry.Fields[replyTo]
		return ok || entry.Deliveries > maxDeliveries
	}) {
		return entries
	}
	keys := t.Scripts.Keys
	var of []int
	var pushes []string
	ours := slices.Clone(entries)
	for i, entry := range entries {
		stream, ok := entry.Fields[replyTo]
		switch {
		case !report.ValidID(entry.Fields["id"]):
		case entry.Deliveries > maxDeliveries: // noted when it was delivered first, and quarantined now
			if err := step.Ensure(ctx, t.Log, "refuse a push", func() error { return t.Scripts.Receipts.Refuse(ctx, entry.Fields["id"], poison) }); err != nil && !errors.Is(err, scripts.ErrBroken) {
				ours[i].Fields, results[i] = nil, step.Result{Kind: step.Elsewhere, Err: err}
			}
		case !ok:
		case !job.ValidReplyTo(stream, keys.Keys):
			ours[i].Fields, results[i] = nil, step.Result{Kind: step.Unusable, Err: fmt.Errorf(reasonReplyTo, keys.Replies)}
		default:
			of, pushes = append(of, i), append(pushes, entry.Fields["id"], stream+"/"+entry.ID)
		}
	}
	if len(of) == 0 {
		return ours
	}
	var outcomes []scripts.Outcome
	err := step.Ensure(ctx, t.Log, "note who wants receipts", func() (err error) {
		outcomes, err = t.Scripts.Receipts.Note(ctx, pushes...)
		return err
	})
	for k, i := range of {
		switch {
		case errors.Is(err, scripts.ErrBroken):
			ours[i].Fields, results[i] = nil, step.Result{Kind: step.Unusable, Err: err}
		case err != nil:
			ours[i].Fields, results[i] = nil, step.Result{Kind: step.Elsewhere, Err: err}
		case outcomes[k] != scripts.OK:
			ours[i].Fields, results[i] = nil, step.Result{Kind: step.Unusable, Err: errors.New("too many other streams wait for receipts of this id; push it again later, or without reply_to")}
		}
	}
	return ours
}

// sendReplies moves the noted streams of an id to its own partition.
func (t *Trigger) sendReplies(ctx context.Context, id string, home *scripts.Scripts) error {
	pushes, err := t.Scripts.Receipts.Read(ctx, id)
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
	return t.Scripts.Receipts.Forget(ctx, id)
}
