package api

import (
	"net/http"
	"time"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/moment"
	"github.com/fanfold/fanfold/internal/screen"
)

// maxActs is how many acts an answer has.
const maxActs = 100

// listActs lists who did what, the newest first.
func listActs(a *API, w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	since, err := moment.Ago(q.Get("since"), time.Now(), time.UTC)
	if err != nil {
		return problem{
			Status: http.StatusUnprocessableEntity, Code: "input", Detail: "since: " + err.Error(),
			Remedy: "Send since=1d, or a time such as 2024-06-01T09:30:00Z",
		}
	}
	acts, err := a.o.Inspect.Acts.List(r.Context(), inspect.ActFilter{
		Who: q.Get("who"), Act: q.Get("act"), On: inspect.ActsOn(q.Get("id")), Since: since, Before: q.Get("before"),
	}, maxActs)
	if acts == nil {
		return err
	}
	if err != nil {
		w.Header().Set("Fanfold-Incomplete", screen.OneLine(err.Error()))
	}
	return answer(w, http.StatusOK, acts)
}
