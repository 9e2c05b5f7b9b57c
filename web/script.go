package web

import (
	"bytes"
	_ "embed"
	"net/http"
	"time"
)

//go:embed stream.js
var stream []byte

// StreamScript answers with stream.js, which follows a Stream in a browser.
func StreamScript(w http.ResponseWriter, r *http.Request) {
	http.ServeContent(w, r, "stream.js", time.Time{}, bytes.NewReader(stream))
}
