package api

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/fanfold/fanfold/report"
)

// listed is a report of the configuration.
type listed struct {
	Name       string      `json:"name"`
	Parameters []parameter `json:"parameters"`
}

// parameter is one that a job of a report takes.
type parameter struct {
	Name     string               `json:"name"`
	Type     report.ParameterType `json:"type"`
	List     bool                 `json:"list"`
	Required bool                 `json:"required"`
	Default  json.RawMessage      `json:"default,omitempty"` // null: it can be null
}

// reports lists the reports.
func (a *API) reports(w http.ResponseWriter, _ *http.Request) error {
	list := []listed{}
	for _, name := range slices.Sorted(maps.Keys(a.o.Reports)) {
		of := listed{name, []parameter{}}
		for _, p := range a.o.Reports[name].Parameters {
			one := parameter{Name: p.Name, Type: p.Type, List: p.List, Required: p.Default == nil}
			if p.Default != nil {
				one.Default = json.RawMessage(*p.Default)
			}
			of.Parameters = append(of.Parameters, one)
		}
		list = append(list, of)
	}
	return a.answer(w, http.StatusOK, list)
}
