package main

import (
	"net/http"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// proxies break connections in ways that servers do not.
type proxies struct {
	server *toxiproxy.ApiServer // for metrics and logs of the proxies
	made[*toxiproxy.Proxy]
}

func newProxies() *proxies {
	return &proxies{server: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())}
}

func (p *proxies) handle(mux *http.ServeMux) {
	mux.HandleFunc("POST /proxies", func(w http.ResponseWriter, r *http.Request) {
		proxy := toxiproxy.NewProxy(p.server, "proxy", "127.0.0.1:0", r.URL.Query().Get("upstream"))
		if err := proxy.Start(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		p.add(w, proxy, proxy.Listen)
	})
	mux.HandleFunc("POST /proxies/{id}/toxics", p.of(func(proxy *toxiproxy.Proxy, r *http.Request) error {
		_, err := proxy.Toxics.AddToxicJson(r.Body)
		return err
	}))
	mux.HandleFunc("DELETE /proxies/{id}/toxics/{name}", p.of(func(proxy *toxiproxy.Proxy, r *http.Request) error {
		return proxy.Toxics.RemoveToxic(r.Context(), r.PathValue("name"))
	}))
	mux.HandleFunc("POST /proxies/{id}/stop", p.of(func(proxy *toxiproxy.Proxy, _ *http.Request) error {
		proxy.Stop()
		return nil
	}))
	mux.HandleFunc("POST /proxies/{id}/start", p.of(func(proxy *toxiproxy.Proxy, _ *http.Request) error {
		return proxy.Start()
	}))
	mux.HandleFunc("DELETE /proxies/{id}", p.remove((*toxiproxy.Proxy).Stop))
}
