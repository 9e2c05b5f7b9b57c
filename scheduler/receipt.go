package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/step"
)

// A service that names a stream in reply_to is told of its push by firings, as others are told of ends. A firing
// can come twice; the script that appends to the stream does so once.

// receiptTime bounds an append to the stream of a service, whose server may not answer.
const receiptTime = 2 * time.Second

// receipt sends a service the receipt of its push.
func (t actions) receipt(ctx context.Context, f *firing, r job.Receipt) step.Result {
	if keys := t.scripts.Keys; !job.ValidReplyTo(r.Stream, keys.Keys) { // a timer can have such a name
		return t.failed(ctx, f, fmt.Errorf("%s is not a stream to which receipts may go: its name must begin with %s "+
			"(redis_keys.replies)", r.Stream, keys.Replies))
	}
	accepted, started := r.Accepted()
	if r.Kind == job.ReceiptAccepted {
		return t.deliver(ctx, f, r.Stream, accepted)
	}
	if t.o.Records == nil {
		return t.failed(ctx, f, errors.New("this process cannot read records"))
	}
	record, exists, err := t.o.Records.Ended(ctx, r.ID)
	if err != nil {
		return t.later(ctx, f, scripts.Requeue{Delay: outageWait, Error: err.Error()})
	}
	var fields []any
	switch {
	case r.Kind == job.ReceiptRefused:
		fields = []any{"event", job.ReceiptRefused, "id", r.ID, "reason", r.Reason}
		if exists && record.Status.Known() && record.Status.Final() {
			fields = append(fields, outcome(record)...)
		}
	case !exists:
		fields = []any{"event", "finished", "id", r.ID, "attempt", r.Attempt, "status", string(report.Deleted),
			"reason", "the record was deleted"}
	case !record.Status.Final():
		// It is not final yet, or runs again: the service waits for its end.
		return t.later(ctx, f, scripts.Requeue{Delay: min(max(unfinishedWait, f.age()/4), maxUnfinishedWait),
			Error: "the record is not final"})
	default:
		fields = append([]any{"event", "finished", "id", r.ID, "attempt", record.Attempt, "report", record.Report},
			outcome(record)...)
		if !record.Status.HasFile() {
			fields = append(fields, "reason", report.ShortenTo(record.Error, maxText))
		}
	}
	if started { // first, unless it was sent
		return t.deliver(ctx, f, r.Stream, accepted, r.Final(fields...))
	}
	return t.deliver(ctx, f, r.Stream, r.Final(fields...))
}

// maxUnfinishedWait is the maximum time between two reads of a record that runs again.
const maxUnfinishedWait = time.Minute

// outcome returns the fields of a receipt for a final record.
func outcome(r Ended) []any {
	fields := []any{"status", string(r.Status)}
	if r.Status.HasFile() {
		fields = append(fields, "file", r.File)
	}
	if r.Rows != nil {
		fields = append(fields, "rows", *r.Rows)
	}
	return fields
}

// deliver appends entries to the stream of a service, every one once.
func (t actions) deliver(ctx context.Context, f *firing, stream string, entries ...job.Entry) step.Result {
	limited, cancel := context.WithTimeout(ctx, receiptTime)
	defer cancel()
	err := t.scripts.Receipts.Deliver(limited, stream, entries...)
	switch {
	case err == nil:
		return step.Result{Kind: step.Void}
	case errors.Is(err, scripts.ErrBroken), scripts.Denied(err):
		return t.failed(ctx, f, fmt.Errorf("receipt of %s: %w", stream, err))
	}
	return t.later(ctx, f, scripts.Requeue{Delay: outageWait, Error: err.Error()})
}
