package demo

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// vendor is the slow third-party API of fanfold demo --full. A client orders an export for ids of users,
// polls until it is done, and reads the scores in pages.
type vendor struct {
	mu      sync.Mutex
	exports []*export // the index is the id
}

// export is the order of one client.
type export struct {
	key   string  // Idempotency-Key
	Users []int64 `json:"users"`
	polls int     // requests for its state so far
}

const (
	token    = "demo-token" // that the vendor accepts; not a secret
	maxPolls = 3            // that are answered with "running"
	pageRows = 500          // rows per page
)

// startVendor starts a vendor on a free port of the loopback interface.
func startVendor() (url string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	v, mux := &vendor{}, http.NewServeMux()
	mux.HandleFunc("POST /v1/exports", v.answer(v.order))
	mux.HandleFunc("GET /v1/exports/{id}", v.answer(v.state))
	mux.HandleFunc("GET /v1/exports/{id}/scores", v.answer(v.scores))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(listener)
	return "http://" + listener.Addr().String() + "/v1", func() { _ = server.Close() }, nil
}

// answer handles requests that have the token, one at a time.
func (v *vendor) answer(body func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			http.Error(w, `{"message": "the token is missing or wrong"}`, http.StatusUnauthorized)
			return
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		answer, err := body(r)
		if err != nil {
			http.Error(w, fmt.Sprintf(`{"message": %q}`, err), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}
}

// order creates an export, once for every key.
func (v *vendor) order(r *http.Request) (any, error) {
	e := &export{key: r.Header.Get("Idempotency-Key")}
	if err := json.NewDecoder(r.Body).Decode(e); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(v.exports, func(before *export) bool { return before.key == e.key })
	if i < 0 {
		i, v.exports = len(v.exports), append(v.exports, e)
	}
	return map[string]any{"id": strconv.Itoa(i)}, nil
}

func (v *vendor) find(r *http.Request) (*export, error) {
	n, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || n < 0 || n >= len(v.exports) {
		return nil, errors.New("no such export")
	}
	return v.exports[n], nil
}

// state returns the progress of an export.
func (v *vendor) state(r *http.Request) (any, error) {
	e, err := v.find(r)
	if err != nil {
		return nil, err
	}
	if e.polls++; e.polls <= maxPolls {
		return map[string]any{"state": "running", "percent": 100 * e.polls / (maxPolls + 1)}, nil
	}
	return map[string]any{"state": "done"}, nil
}

// scores returns a page of an export's rows, and the cursor of the next page.
func (v *vendor) scores(r *http.Request) (any, error) {
	e, err := v.find(r)
	if err != nil {
		return nil, err
	}
	from, err := strconv.Atoi(cmp.Or(r.URL.Query().Get("cursor"), "0"))
	if err != nil || from < 0 || from > len(e.Users) || e.polls <= maxPolls {
		return nil, errors.New("no such page")
	}
	to := min(from+pageRows, len(e.Users))
	rows := []any{}
	for _, user := range e.Users[from:to] {
		rows = append(rows, map[string]any{"user": map[string]any{"id": user}, "score": json.Number(fmt.Sprintf("0.%02d", user*37%100))})
	}
	page := map[string]any{"scores": rows, "next": nil}
	if to < len(e.Users) {
		page["next"] = strconv.Itoa(to)
	}
	return page, nil
}
