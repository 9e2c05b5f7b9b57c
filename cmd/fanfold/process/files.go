package process

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fanfold/fanfold/engine/files"
	"github.com/fanfold/fanfold/internal/aged"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/web"
)

// openTime bounds the opening of the sink for downloads.
const openTime = 10 * time.Second

var errOpenTime = errors.New("not open after " + openTime.String())

// openOnce returns a function that opens a sink on first use. Its callers share the sink. Each of them waits until
// its context ends, at most for openTime.
func openOnce(open func(context.Context) (sink.Sink, error)) func(context.Context) (sink.Sink, error) {
	opened := aged.Cache[struct{}, sink.Sink]{Ask: func(ctx context.Context, _ struct{}) (sink.Sink, error) {
		// The sink outlives the request that opens it, and uses this context to get tokens.
		lasting, cancel := context.WithCancelCause(ctx)
		limit := time.AfterFunc(openTime, func() { cancel(errOpenTime) })
		s, err := open(lasting)
		if !limit.Stop() && err == nil {
			err = errOpenTime
		}
		if err != nil {
			cancel(err)
		}
		return s, err
	}}
	return func(ctx context.Context) (sink.Sink, error) {
		limited, cancel := context.WithTimeoutCause(ctx, openTime, errOpenTime)
		defer cancel()
		s, err := opened.Get(limited, struct{}{})
		if err != nil && limited.Err() != nil {
			return nil, fmt.Errorf("sink: %w", err)
		}
		return s, err
	}
}

// Object finds the file of a record. Its sink stays open until Close.
func (p *Process) Object(ctx context.Context, id, file string) (web.File, error) {
	from, err := p.reads(ctx)
	if err != nil {
		return web.File{}, err
	}
	name, ours := from.Name(file)
	if !ours {
		return web.File{}, fmt.Errorf("%w: record %s has the file %q, which is not in %s", web.ErrElsewhere, id, file,
			p.Config.Sink.URL)
	}
	made, _ := files.Parse(name, p.kinds.Formats.Endings())
	found := web.File{Sink: from, Name: name, Made: made, ContentType: p.kinds.Formats.ContentType(made.Ending)}
	if made.ID != id && made.ID != "" {
		found.Shared, err = p.Records.Sharing().Shares(ctx, file, id)
	}
	return found, err
}

// Size returns the size of a record's file in bytes if it is on this machine, otherwise nil: to ask
// another sink would need a network call.
func (p *Process) Size(ctx context.Context, id, file string) *int64 {
	if kind, err := p.kinds.Sinks.Of(p.Config.Sink); err != nil || !kind.Local || file == "" {
		return nil
	}
	found, err := p.Object(ctx, id, file)
	local, ok := found.Sink.(sink.Local)
	if err != nil || !ok {
		return nil
	}
	size, err := local.Size(found.Name)
	if err != nil {
		return nil
	}
	return &size
}
