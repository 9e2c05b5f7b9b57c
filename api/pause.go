package api

import (
	"encoding/json"
	"net/http"

	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/report"
)

// terms are the body of a change for a time.
type terms struct {
	Reason string `json:"reason"`
	For    string `json:"for"`
	Until  string `json:"until"`
}

// bodyOf reads the JSON object of a body, which may be missing, into a value with the fields of terms.
func bodyOf(r *http.Request, into any) error {
	body, err := jsonBody(r)
	if err != nil || len(body) == 0 {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return problem{
			Status: http.StatusBadRequest, Code: "body", Detail: "the body is not such a JSON object: " + err.Error(),
			Remedy: `Send an object such as {"reason": "overloaded", "for": "2h"}`,
		}
	}
	return nil
}

// pausable are the kinds of what can be paused.
var pausable = []string{"source", "listener", "report"}

// pauses are the routes that pause and resume.
func pauses() (all []route) {
	for _, kind := range pausable {
		path := "/" + kind + "s/{name}/"
		all = append(all,
			route{"POST", path + "pause", func(a *API, w http.ResponseWriter, r *http.Request) error {
				var of terms
				if err := bodyOf(r, &of); err != nil {
					return err
				}
				parsed, err := operate.TermsOf(of.Reason, of.For, of.Until)
				if err != nil {
					return err
				}
				one, err := a.o.Operate.Pauses.Pause(r.Context(), kind+"/"+r.PathValue("name"), parsed)
				if err != nil {
					return err
				}
				return answer(w, http.StatusOK, one)
			}, report.Operate, false},
			route{"POST", path + "resume", func(a *API, w http.ResponseWriter, r *http.Request) error {
				what := kind + "/" + r.PathValue("name")
				was, n, err := a.o.Operate.Pauses.Resume(r.Context(), what)
				if err != nil {
					return err
				}
				return answer(w, http.StatusOK, resumed{what, was, n})
			}, report.Operate, false})
	}
	return all
}

// resumed is the answer to a resume.
type resumed struct {
	What     string `json:"what"`
	Was      bool   `json:"was_paused"`
	Released int    `json:"released"` // waiting ids of a report
}
