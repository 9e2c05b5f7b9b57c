// Faults is a process that tests start: proxies that break connections, and storage services. Its
// dependencies are heavy and only tests need them, so it is a separate module, in no other module's
// import graph. Package testmain starts it and sends it requests.
//
//	POST   /proxies?upstream=HOST:PORT            a proxy in front of a server: {"id", "addr"}
//	POST   /proxies/{id}/toxics                   a toxic of toxiproxy, as JSON
//	DELETE /proxies/{id}/toxics/{name}
//	POST   /proxies/{id}/stop, /proxies/{id}/start
//	DELETE /proxies/{id}
//	POST   /storages?bucket=NAME[&public=HOST:PORT]  a fake of Google Cloud Storage: {"id", "addr"}
//	DELETE /storages/{id}
//
// It prints its own address, and exits when its stdin is closed.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(listener.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	mux := http.NewServeMux()
	newProxies().handle(mux)
	newStorages().handle(mux)
	fmt.Fprintln(os.Stderr, http.Serve(listener, mux))
	os.Exit(1)
}

// made holds what was created for tests, by id.
type made[T any] struct {
	last atomic.Int64
	all  sync.Map
}

// add stores something new and answers with its id and address.
func (m *made[T]) add(w http.ResponseWriter, one T, addr string) {
	id := strconv.FormatInt(m.last.Add(1), 10)
	m.all.Store(id, one)
	_ = json.NewEncoder(w).Encode(map[string]string{"id": id, "addr": addr})
}

// of returns a handler that applies do to one of them.
func (m *made[T]) of(do func(one T, r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		one, ok := m.all.Load(r.PathValue("id"))
		if !ok {
			http.Error(w, "not found", http.StatusNotFound)
			return
		}
		if err := do(one.(T), r); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
}

// remove returns a handler that ends and removes one of them.
func (m *made[T]) remove(end func(T)) http.HandlerFunc {
	return m.of(func(one T, r *http.Request) error {
		m.all.Delete(r.PathValue("id"))
		end(one)
		return nil
	})
}
