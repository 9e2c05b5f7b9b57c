package process

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/fanfold/fanfold/internal/download"
	"github.com/fanfold/fanfold/sink"
)

// openTime bounds the opening of the sink for downloads.
const openTime = 10 * time.Second

var errOpenTime = errors.New("not open after " + openTime.String())

// opened is a sink that is opened on first use. It is safe for concurrent use.
type opened struct {
	open  func(context.Context) (sink.Sink, error)
	once  singleflight.Group
	ready atomic.Pointer[sink.Sink]
}

// get returns the sink. While another caller opens it, get waits until ctx ends, at most for openTime.
func (o *opened) get(ctx context.Context) (sink.Sink, error) {
	if s := o.ready.Load(); s != nil {
		return *s, nil
	}
	result := o.once.DoChan("", func() (any, error) {
		if s := o.ready.Load(); s != nil {
			return *s, nil
		}
		// The sink outlives the request that opens it, and uses this context to get tokens.
		lasting, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
		limit := time.AfterFunc(openTime, func() { cancel(errOpenTime) })
		s, err := o.open(lasting)
		if !limit.Stop() && err == nil {
			err = errOpenTime
		}
		if err != nil {
			cancel(err)
			return nil, err
		}
		o.ready.Store(&s)
		return s, nil
	})
	limited, cancel := context.WithTimeoutCause(ctx, openTime, errOpenTime)
	defer cancel()
	select {
	case r := <-result:
		if r.Err != nil {
			return nil, r.Err
		}
		return r.Val.(sink.Sink), nil
	case <-limited.Done():
		return nil, fmt.Errorf("sink: %w", context.Cause(limited))
	}
}

// sinkAnswers returns the error of the last write of this process if it persists, and otherwise that
// of listing a prefix without files.
func (p *Process) sinkAnswers(ctx context.Context) error {
	if p.files != nil {
		if err := p.files.State(ctx); err != nil {
			return err
		}
	}
	files, err := p.reads.get(ctx)
	if err != nil {
		return err
	}
	for _, err := range files.List(ctx, "fanfold-check/none") {
		return err
	}
	return nil
}

// Object returns the sink that has the file of a record, and the file's name in it. The sink stays
// open until Close.
func (p *Process) Object(ctx context.Context, id, file string) (files sink.Sink, name string, err error) {
	if files, err = p.reads.get(ctx); err != nil {
		return nil, "", err
	}
	name, ours := files.Name(file)
	if !ours {
		return nil, "", fmt.Errorf("%w: record %s has the file %q, which is not in %s", download.ErrElsewhere, id, file, p.Config.Sink)
	}
	return files, name, nil
}
