package fanin

import (
	"errors"

	"github.com/fanfold/fanfold/scripts/job"
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

// broken returns the failure of a job whose data or definition every try would meet again. An error
// that already is a failure stays what it is.
func broken(err error) error {
	if _, ok := errors.AsType[*step.Failure](err); ok {
		return err
	}
	return &step.Failure{Result: step.Result{Kind: step.Permanent, Err: err, Blame: job.BlameReport}}
}
