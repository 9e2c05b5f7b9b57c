package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// proxy is a toxiproxy: it breaks connections in ways that servers do not.
type proxy = toxiproxy.Proxy

// newProxy starts a toxiproxy in front of a server.
func newProxy(t testing.TB, server *toxiproxy.ApiServer, name, upstream string) *proxy {
	p := toxiproxy.NewProxy(server, name, "127.0.0.1:0", upstream)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

func newProxies() *toxiproxy.ApiServer {
	return toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
}

// late adds a latency to answers for a while.
func late(ctx context.Context, p *proxy, lasts time.Duration) error {
	return poison(ctx, p, lasts, `{"name":"%s","type":"latency","stream":"downstream","attributes":{"latency":60,"jitter":60}}`)
}

// swallow makes the connections half-open for a while: both sides send, and
// nothing arrives. They break at its end; new ones are swallowed, too.
func swallow(ctx context.Context, p *proxy, lasts time.Duration) error {
	return poison(ctx, p, lasts,
		`{"name":"%s","type":"timeout","stream":"downstream","attributes":{"timeout":0}}`,
		`{"name":"%s","type":"timeout","stream":"upstream","attributes":{"timeout":0}}`)
}

func poison(ctx context.Context, p *proxy, lasts time.Duration, toxics ...string) error {
	for i, text := range toxics {
		name := fmt.Sprintf("toxic%d-%d", i, time.Now().UnixNano())
		if _, err := p.Toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(text, name))); err != nil {
			return err
		}
		defer func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			_ = p.Toxics.RemoveToxic(ctx, name)
		}()
	}
	elapse(ctx, lasts)
	return nil
}

// cut breaks the connections, and refuses new ones for a while.
func cut(ctx context.Context, p *proxy, lasts time.Duration) error {
	p.Stop()
	elapse(ctx, lasts)
	return p.Start()
}

// elapse lets time pass.
func elapse(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
