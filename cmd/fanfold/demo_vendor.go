package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// demoVendor is the slow third-party API of `fanfold demo --full`: it takes ids of
// users, says for a while that it works on them, and gives their scores in pages.
type demoVendor struct {
	server *http.Server
	url    string

	mu      sync.Mutex
	exports []*demoExport // the id of one is its place, from 1
}

// demoExport is one order.
type demoExport struct {
	key   string // Idempotency-Key
	users []int64
	looks int // how often it was asked whether it is done
}

const (
	demoToken = "demo-token" // what the vendor wants to see; no secret
	demoLooks = 3            // as often it says "running"
	demoPage  = 500          // rows
)

// startDemoVendor starts a vendor on a free port of the loopback interface.
func startDemoVendor() (*demoVendor, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	v := &demoVendor{url: "http://" + listener.Addr().String() + "/v1"}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/exports", v.order)
	mux.HandleFunc("GET /v1/exports/{id}", v.Look)
	mux.HandleFunc("GET /v1/exports/{id}/scores", v.scores)
	v.server = &http.Server{Handler: authorized(mux), ReadHeaderTimeout: 10 * time.Second}
	go v.server.Serve(listener)
	return v, nil
}

func (v *demoVendor) stop() { _ = v.server.Close() }

func authorized(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+demoToken {
			http.Error(w, `{"message": "who are you?"}`, http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// order takes an order, once for each key.
func (v *demoVendor) order(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Users []int64 `json:"users"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&body); err != nil {
		http.Error(w, fmt.Sprintf(`{"message": %q}`, err), http.StatusBadRequest)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, e := range v.exports {
		if e.key == key && key != "" {
			reply(w, http.StatusAccepted, map[string]any{"id": strconv.Itoa(i + 1)})
			return
		}
	}
	v.exports = append(v.exports, &demoExport{key: key, users: body.Users})
	reply(w, http.StatusAccepted, map[string]any{"id": strconv.Itoa(len(v.exports))})
}

// export finds an order; where there is none, it says so.
func (v *demoVendor) export(w http.ResponseWriter, r *http.Request) *demoExport {
	n, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || n < 1 || n > len(v.exports) {
		http.Error(w, `{"message": "no such export"}`, http.StatusNotFound)
		return nil
	}
	return v.exports[n-1]
}

// look says how far an order is.
func (v *demoVendor) Look(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e := v.export(w, r)
	if e == nil {
		return
	}
	if e.looks++; e.looks <= demoLooks {
		reply(w, http.StatusOK, map[string]any{"state": "running", "percent": 100 * e.looks / (demoLooks + 1)})
		return
	}
	reply(w, http.StatusOK, map[string]any{"state": "done"})
}

// scores gives a page of an order's rows, and where the next one begins.
func (v *demoVendor) scores(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e := v.export(w, r)
	if e == nil {
		return
	}
	from, err := strconv.Atoi(cmp.Or(r.URL.Query().Get("cursor"), "0"))
	if err != nil || from < 0 || from > len(e.users) || e.looks <= demoLooks {
		http.Error(w, `{"message": "no such page"}`, http.StatusBadRequest)
		return
	}
	to := min(from+demoPage, len(e.users))
	rows := []any{}
	for _, user := range e.users[from:to] {
		rows = append(rows, map[string]any{"user": map[string]any{"id": user}, "score": json.Number(fmt.Sprintf("0.%02d", user*37%100))})
	}
	page := map[string]any{"scores": rows, "next": nil}
	if to < len(e.users) {
		page["next"] = strconv.Itoa(to)
	}
	reply(w, http.StatusOK, page)
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
