package fanin

import (
	"errors"
	"fmt"
	"io"

	"github.com/fanfold/fanfold/scripts/job"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/step"
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
	return step.Result{Kind: step.Outage, Err: err, Blame: job.BlameRedis}
}

// ofSink returns the failure of an operation of the sink; nil and a failure stay what they are. Only a
// refusal counts as a try, because it may be permanent. The text says what failed and what to do.
func ofSink(err error) error {
	if _, ok := errors.AsType[*step.Failure](err); err == nil || ok {
		return err
	}
	failed := &step.Failure{Result: step.Result{Kind: step.Outage, Err: fmt.Errorf("sink: %w", err),
		Blame: job.BlameSink}}
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
	return &step.Failure{Result: step.Result{Kind: step.Permanent, Err: err, Blame: job.BlameReport}}
}
