package api

import (
	"encoding/json"
	"net/http"

	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/report"
)

// terms are the body of a change for a time.
type terms struct {
	Limit  int    `json:"limit"` // not of a pause
	Reason string `json:"reason"`
	For    string `json:"for"`
	Until  string `json:"until"`
}

// termsOf reads the JSON object of a body, which may be missing.
func termsOf(r *http.Request) (limit int, of operate.Terms, err error) {
	body, err := jsonBody(r)
	if err != nil || len(body) == 0 {
		return 0, of, err
	}
	var sent terms
	if err := json.Unmarshal(body, &sent); err != nil {
		return 0, of, problem{
			Status: http.StatusBadRequest, Code: "body", Detail: "the body is not such a JSON object: " + err.Error(),
			Remedy: `Send an object such as {"reason": "overloaded", "for": "2h"}`,
		}
	}
	of, err = operate.TermsOf(sent.Reason, sent.For, sent.Until)
	return sent.Limit, of, err
}

// pausable are the kinds of what can be paused.
var pausable = []string{"source", "listener", "report"}

// limitable are the kinds of what can be limited.
var limitable = []string{"source", "report"}

// holds are the routes that pause and resume, and that change limits.
func holds() (all []route) {
	for _, kind := range pausable {
		path := "/" + kind + "s/{name}/"
		all = append(all,
			route{"POST", path + "pause", func(a *API, w http.ResponseWriter, r *http.Request) error {
				_, of, err := termsOf(r)
				if err != nil {
					return err
				}
				one, err := a.o.Operate.Pauses.Pause(r.Context(), kind+"/"+r.PathValue("name"), of)
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
	for _, kind := range limitable {
		path := "/" + kind + "s/{name}/limit"
		all = append(all,
			route{"PUT", path, func(a *API, w http.ResponseWriter, r *http.Request) error {
				n, of, err := termsOf(r)
				if err != nil {
					return err
				}
				one, err := a.o.Operate.Limits.Set(r.Context(), kind+"/"+r.PathValue("name"), n, of)
				if err != nil {
					return err
				}
				return answer(w, http.StatusOK, one)
			}, report.Operate, false},
			route{"DELETE", path, func(a *API, w http.ResponseWriter, r *http.Request) error {
				what := kind + "/" + r.PathValue("name")
				was, err := a.o.Operate.Limits.Reset(r.Context(), what)
				if err != nil {
					return err
				}
				return answer(w, http.StatusOK, unlimited{what, was})
			}, report.Operate, false})
	}
	return all
}

// unlimited is the answer when a limit was reset.
type unlimited struct {
	What string `json:"what"`
	Was  bool   `json:"was_limited"`
}

// resumed is the answer to a resume.
type resumed struct {
	What     string `json:"what"`
	Was      bool   `json:"was_paused"`
	Released int    `json:"released"` // waiting ids of a report
}
