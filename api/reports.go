package api

import (
	"encoding/json"
	"net/http"

	"github.com/fanfold/fanfold/report"
)

// reportItem is a report in the list of reports.
type reportItem struct {
	Name        string      `json:"name"`
	Description string      `json:"description,omitempty"`
	Parameters  []parameter `json:"parameters"`
}

// parameter is a parameter of a report.
type parameter struct {
	Name     string               `json:"name"`
	Type     report.ParameterType `json:"type"`
	List     bool                 `json:"list"`
	Required bool                 `json:"required"`
	Default  json.RawMessage      `json:"default,omitempty"` // null: the value can be null; relative dates as written

	Description string   `json:"description,omitempty"`
	Options     []string `json:"options,omitempty"` // like minimum and maximum, the texts of the configuration
	Minimum     string   `json:"minimum,omitempty"`
	Maximum     string   `json:"maximum,omitempty"`
	Pattern     string   `json:"pattern,omitempty"`
}

// reports lists the reports.
func (a *API) reports(w http.ResponseWriter, r *http.Request) error {
	list := []reportItem{}
	for _, name := range (rights{a}).names(r) {
		one := a.o.Inspect.Config.Reports[name]
		of := reportItem{name, one.Description, []parameter{}}
		for _, p := range one.Parameters {
			one := parameter{
				Name: p.Name, Type: p.Type, List: p.List, Required: p.Default == nil, Description: p.Description,
				Options: p.Options, Minimum: p.Minimum, Maximum: p.Maximum, Pattern: p.Pattern.String(),
			}
			if p.Default != nil {
				one.Default = json.RawMessage(*p.Default)
			}
			of.Parameters = append(of.Parameters, one)
		}
		list = append(list, of)
	}
	return answer(w, http.StatusOK, list)
}
