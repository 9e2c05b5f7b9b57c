package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/web"
	"github.com/fanfold/fanfold/web/problems"
)

type problem = problems.Problem

// problemOf turns an error into a problem. It logs the errors of servers, and leaves their texts out.
func (a *API) problemOf(r *http.Request, err error) problem {
	p, own := errors.AsType[problem](err)
	long, tooLong := errors.AsType[*http.MaxBytesError](err)
	switch {
	case own:
		return p
	case tooLong:
		return problem{
			Status: http.StatusRequestEntityTooLarge, Code: "body",
			Detail: fmt.Sprintf("the body has more than %d bytes", long.Limit),
			Remedy: "Put long lists into a table that the queries read, or raise limits.parameter_bytes",
		}
	case errors.Is(err, engine.ErrNoRecord):
		return problem{
			Status: http.StatusNotFound, Code: "record",
			Detail: "there is no record " + r.PathValue("id"),
			Remedy: "Use the id in the answer that created the job",
		}
	case errors.Is(err, sink.ErrNoObject):
		return problem{
			Status: http.StatusGone, Code: "file",
			Detail: "the file of record " + r.PathValue("id") + " was deleted",
			Remedy: "POST …/retry makes the file again",
		}
	case errors.Is(err, web.ErrElsewhere):
		if !access.Of(r.Context()).Everywhere(report.See) {
			err = web.ErrElsewhere // without the place of the file
		}
		return problem{
			Status: http.StatusConflict, Code: "file",
			Detail: err.Error(),
			Remedy: "If the sink has moved, copy the file by hand; POST …/retry makes it again in the present sink",
		}
	case errors.Is(err, record.ErrOtherRequest):
		return problem{
			Status: http.StatusUnprocessableEntity, Code: "key",
			Detail: "this Idempotency-Key was used for another report, or with other parameters",
			Remedy: "Use a new key for a new request, and the same one only to repeat a request",
		}
	case errors.Is(err, fault.Gone):
		return problem{
			Status: http.StatusGone, Code: "record",
			Detail: err.Error(),
			Remedy: "Use a new Idempotency-Key for a new job",
		}
	case errors.Is(err, fault.Refused):
		return problem{
			Status: http.StatusConflict, Code: "state",
			Detail: err.Error(),
			Remedy: "GET …/jobs/{id} shows the state of the job",
		}
	case errors.Is(err, fault.Input):
		return problem{
			Status: http.StatusUnprocessableEntity, Code: "input",
			Detail: err.Error(),
			Remedy: "Correct the request",
		}
	}
	if context.Cause(r.Context()) != context.Canceled { // otherwise the client has disconnected
		a.o.Log.Error("API request failed", "method", r.Method, "path", r.URL.Path, "err", err)
	}
	if refused(err, a.o.Inspect.Records.Kind()) {
		return problem{
			Status: http.StatusInternalServerError, Code: "failed",
			Detail: "a server refused an operation that this request needs",
			Remedy: "Read the log of the process",
		}
	}
	return problem{
		Status: http.StatusServiceUnavailable, Code: "away",
		Detail: "the request cannot be completed now",
		Remedy: "Send it again, with the same Idempotency-Key if it creates a job. The log of the process has the cause",
	}
}

// refused tells whether an error is the answer of a server that would answer a repeated request in the same
// way.
func refused(err error, records *record.Kind) bool {
	if answer, ok := errors.AsType[redis.Error](err); ok {
		text := answer.Error()
		away := func(prefix string) bool { return strings.HasPrefix(text, prefix) }
		return !slices.ContainsFunc([]string{"LOADING ", "CLUSTERDOWN ", "READONLY ", "MASTERDOWN "}, away) &&
			!scripts.Full(err)
	}
	return !records.Away(err)
}
