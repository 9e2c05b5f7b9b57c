package process

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/fanfold/fanfold/engine/sink"
)

// openTime bounds how long the sink of those who bring files is opened.
const openTime = 10 * time.Second

var errOpenTime = errors.New("it did not open within " + openTime.String())

// opened is a sink that is opened when it is needed first. It is safe for concurrent use.
type opened struct {
	open  func(context.Context) (sink.Sink, error)
	once  singleflight.Group
	ready atomic.Pointer[sink.Sink]
}

// get returns the sink. A caller that comes while it is opened waits for that, until ctx ends or
// openTime is over.
func (o *opened) get(ctx context.Context) (sink.Sink, error) {
	if s := o.ready.Load(); s != nil {
		return *s, nil
	}
	result := o.once.DoChan("", func() (any, error) {
		if s := o.ready.Load(); s != nil {
			return *s, nil
		}
		// What is opened outlives the request that needed it first, and asks for tokens in this context.
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

// sinkAnswers lists files that do not exist: it returns why the sink does not answer.
func (p *Process) sinkAnswers(ctx context.Context) error {
	files, err := p.reads.get(ctx)
	if err != nil {
		return err
	}
	for _, err := range files.List(ctx, "fanfold-check/none") {
		return err
	}
	return nil
}

// Object finds the sink that has the file of a record, and the file's name in it. The sink stays
// open until Close.
func (p *Process) Object(ctx context.Context, id, file string) (files sink.Sink, name string, err error) {
	if files, err = p.reads.get(ctx); err != nil {
		return nil, "", err
	}
	name, ours := files.Name(file)
	if !ours {
		return nil, "", fmt.Errorf("record %s has the file %q, which is not in %s", id, file, p.Config.Sink)
	}
	return files, name, nil
}
