package http

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
)

// Connect proves that the API's name resolves, that its host takes connections, and
// for https that its certificate is in order. It sends no request. Where a proxy stands
// between, it is the proxy that takes the connection.
func (s *Source) Connect(ctx context.Context) error {
	u, err := url.Parse(s.api.URL)
	if err != nil {
		return fmt.Errorf("API %s: its url is none", s.api.Name)
	}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u}); err == nil && proxy != nil {
		u = &url.URL{Scheme: "http", Host: proxy.Host}
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	dial := (&net.Dialer{}).DialContext
	if u.Scheme == "https" {
		dial = (&tls.Dialer{}).DialContext
	}
	conn, err := dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return fmt.Errorf("API %s: %w", s.api.Name, err)
	}
	return conn.Close()
}
