package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/access"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts/job"
)

// job answers with the state of a job.
func (a *API) job(w http.ResponseWriter, r *http.Request) error {
	v, err := a.o.Inspect.Jobs.Get(r.Context(), r.PathValue("id"))
	if err == nil {
		err = a.o.Inspect.Jobs.Times(r.Context(), &v)
	}
	if err != nil {
		return err
	}
	v.Size = a.o.Size(r.Context(), v.ID, v.File)
	if !access.Of(r.Context()).Everywhere(report.See) {
		v = v.Neutral()
	}
	return answer(w, http.StatusOK, v)
}

// file answers with the file of a job.
func (a *API) file(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	of, err := a.record(r, id)
	switch {
	case err != nil:
		return err
	case !of.Status.Final():
		return problem{
			Status: http.StatusConflict, Code: "state",
			Detail: fmt.Sprintf("record %s is %s and has no file yet", id, of.Status),
			Remedy: "GET " + a.url(id, "/events") + " shows when it has one",
		}
	case !of.Status.HasFile():
		return problem{
			Status: http.StatusConflict, Code: "state",
			Detail: fmt.Sprintf("record %s is %s and has no file: %s", id, of.Status,
				cmp.Or(of.Error, "no reason is given")),
			Remedy: "POST " + a.url(id, "/retry") + " runs it again",
		}
	case report.Skipped(of.Status, of.File, of.Rows):
		return problem{
			Status: http.StatusConflict, Code: "state",
			Detail: fmt.Sprintf("record %s is %s and has no file: %s", id, of.Status, report.NoRows),
			Remedy: "Create a job with other parameters",
		}
	}
	return a.o.Find.Serve(w, r, id, of.File)
}

// record reads a record, within requestTimeout, for a handler of a long route.
func (a *API) record(r *http.Request, id string) (engine.Record, error) {
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	return a.o.Inspect.Jobs.Record(ctx, id)
}

// outcome is the answer to a cancellation.
type outcome struct {
	ID      string `json:"id"`
	Outcome string `json:"outcome"` // cancelled, or cancelled before
}

// maxReason is the maximum length of the reason of a cancellation, in bytes.
const maxReason = 1000

// cancel cancels a job.
func (a *API) cancel(w http.ResponseWriter, r *http.Request) error {
	body, err := jsonBody(r)
	if err != nil {
		return err
	}
	var request struct {
		Reason string `json:"reason"`
	}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &request); err != nil {
			return problem{
				Status: http.StatusBadRequest, Code: "body",
				Detail: "the body is not a JSON object with a reason",
				Remedy: `Send an object such as {"reason": "asked for by mistake"}, or no body`,
			}
		}
	}
	if len(request.Reason) > maxReason {
		return problem{
			Status: http.StatusUnprocessableEntity, Code: "input",
			Detail: fmt.Sprintf("the reason has more than %d bytes", maxReason),
			Remedy: "Send a shorter reason",
		}
	}
	id := r.PathValue("id")
	done, err := a.o.Operate.Jobs.Cancel(r.Context(), id, cmp.Or(request.Reason, "cancelled over HTTP"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, outcome{id, done})
}

// withinOf returns the maximum age of the datasets that a retry reuses.
func withinOf(r *http.Request) (time.Duration, error) {
	within, err := job.ParseAge(r.URL.Query().Get(job.FresherThan))
	if err != nil {
		return 0, problem{
			Status: http.StatusUnprocessableEntity, Code: "input", Detail: job.FresherThan + ": " + err.Error(),
			Remedy: "Send " + job.FresherThan + "=10m in the query, or leave it out",
		}
	}
	return within, nil
}

// retry runs a job again.
func (a *API) retry(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	within, err := withinOf(r)
	if err != nil {
		return err
	}
	if _, err := a.o.Operate.Jobs.Retry(r.Context(), id, within); err != nil {
		return err
	}
	return answer(w, http.StatusAccepted, a.created(r.Context(), id, true))
}
