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

// document answers with the description of the API for programs.
func (a *API) document(w http.ResponseWriter, _ *http.Request) error {
	var all map[string]any
	if err := yaml.Load(described, &all); err != nil {
		return err
	}
	all["servers"] = []map[string]string{{"url": a.o.Prefix + Root}}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return a.answer(w, http.StatusOK, json.RawMessage(text))
}
