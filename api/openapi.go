package api

import (
	_ "embed"
	"encoding/json"
	"net/http"

	"go.yaml.in/yaml/v4"
)

// described is the description of the API for people.
//
//go:embed openapi.yaml
var described []byte

// description returns the description of the API for programs.
func (a *API) description() (json.RawMessage, error) {
	var all map[string]any
	if err := yaml.Load(described, &all); err != nil {
		return nil, err
	}
	all["servers"] = []map[string]string{{"url": a.o.Prefix + Root}}
	return json.Marshal(all)
}

// document answers with it.
func (a *API) document(w http.ResponseWriter, _ *http.Request) error {
	text, err := a.json()
	if err != nil {
		return err
	}
	return a.answer(w, http.StatusOK, text)
}
