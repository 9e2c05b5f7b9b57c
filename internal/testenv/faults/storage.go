package main

import (
	"net"
	"net/http"

	"github.com/fsouza/fake-gcs-server/fakestorage"
)

// storages are fakes of Google Cloud Storage.
type storages struct{ made[*storage] }

func newStorages() *storages { return &storages{} }

// storage is one of them.
type storage struct {
	fake   *fakestorage.Server
	server *http.Server
}

func (s *storages) handle(mux *http.ServeMux) {
	mux.HandleFunc("POST /storages", func(w http.ResponseWriter, r *http.Request) {
		// Listen first: the fake must know the host and port that its clients use.
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		host := listener.Addr().String()
		if public := r.URL.Query().Get("public"); public != "" {
			host = public
		}
		fake, err := fakestorage.NewServerWithOptions(fakestorage.Options{NoListener: true, Scheme: "http", PublicHost: host, ExternalURL: "http://" + host})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fake.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: r.URL.Query().Get("bucket")})
		one := &storage{fake, &http.Server{Handler: fake.HTTPHandler()}}
		go func() { _ = one.server.Serve(listener) }()
		s.add(w, one, listener.Addr().String())
	})
	mux.HandleFunc("DELETE /storages/{id}", s.remove(func(one *storage) {
		_ = one.server.Close()
		one.fake.Stop()
	}))
}
