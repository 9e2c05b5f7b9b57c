package api

import (
	_ "embed"
	"encoding/json"
	"net/http"

	"go.yaml.in/yaml/v4"
)

// openAPI is the description of the API in YAML.
//
//go:embed openapi.yaml
var openAPI []byte

// description returns the description of the API in JSON, with the address of this server.
func (a *API) description() (json.RawMessage, error) {
	var all map[string]any
	if err := yaml.Load(openAPI, &all); err != nil {
		return nil, err
	}
	all["servers"] = []map[string]string{{"url": a.o.Prefix + Root}}
	return json.Marshal(all)
}

// document answers with the description of the API.
func (a *API) document(w http.ResponseWriter, _ *http.Request) error {
	text, err := a.json()
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, text)
}
