package fanin

import (
	"errors"
	"fmt"
	"io"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
)

// resultOf returns the result of a try from its error. If the error is no step.Failure, Redis is
// unreachable, which is not the job's fault.
func resultOf(err error) step.Result {
	if err == nil {
		return step.Result{}
	}
	if failed, ok := errors.AsType[*step.Failure](err); ok {
		return failed.Result
	}
	return step.Result{Kind: step.Outage, Err: errors.New(engine.Reason(err)), Blame: job.BlameRedis}
}

// ofSink returns the failure of an operation of the sink; nil stays nil. Only a refusal counts as a
// try, because it may be permanent. The text, from the sink, says what failed and what to do.
func ofSink(err error) error {
	if err == nil {
		return nil
	}
	reason := errors.New(engine.Reason(fmt.Errorf("sink: %w", err)))
	failed := &step.Failure{Result: step.Result{Kind: step.Outage, Err: reason, Blame: job.BlameSink}}
	if errors.Is(err, sink.ErrRefused) {
		failed.Kind = step.Retry
	}
	return failed
}

// sinkWriter returns the errors of a sink as failures.
type sinkWriter struct{ io.Writer }

func (w sinkWriter) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	return n, ofSink(err)
}

// broken returns the failure of a job whose data or definition every try would meet again. An error
// that already is a failure stays what it is.
func broken(err error) error {
	if _, ok := errors.AsType[*step.Failure](err); ok {
		return err
	}
	reason := errors.New(engine.Reason(err))
	return &step.Failure{Result: step.Result{Kind: step.Permanent, Err: reason, Blame: job.BlameReport}}
}
