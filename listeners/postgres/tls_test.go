package postgres

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// TestTLS: connections are encrypted as the DSN and the certificates say, and passwords of any characters log in.
func TestTLS(t *testing.T) {
	t.Parallel()
	p, err := testenv.StartPostgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	authority, err := testenv.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := authority.Issue()
	if err != nil {
		t.Fatal(err)
	}
	mine, mineKey, err := authority.Issue()
	if err != nil {
		t.Fatal(err)
	}
	// The server writes its files itself, because another user runs it.
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(p.Dir, name)
		if err := p.Exec(t.Context(), "postgres", "COPY (SELECT unnest(string_to_array($x$"+strings.TrimSpace(text)+
			"$x$, E'\\n'))) TO '"+path+"'"); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o600); err != nil { // as a key must be
			t.Fatal(err)
		}
		return path
	}
	const password = `p@s/s:w?o#r"d%41 é`
	for _, statement := range []string{
		"CREATE USER app PASSWORD '" + password + "'", "CREATE USER plain PASSWORD 'x'",
		"CREATE USER certified",
		"ALTER SYSTEM SET ssl_cert_file = '" + file("cert", string(cert)) + "'",
		"ALTER SYSTEM SET ssl_key_file = '" + file("key", string(key)) + "'",
		"ALTER SYSTEM SET ssl_ca_file = '" + file("ca", string(authority.PEM)) + "'",
		"ALTER SYSTEM SET hba_file = '" + file("hba", "host all postgres 127.0.0.1/32 trust\n"+
			"hostssl all app 127.0.0.1/32 scram-sha-256\nhostnossl all plain 127.0.0.1/32 scram-sha-256\n"+
			"hostssl all certified 127.0.0.1/32 trust clientcert=verify-ca") + "'",
		"ALTER SYSTEM SET ssl = on",
	} {
		if err := p.Exec(t.Context(), "postgres", statement); err != nil {
			t.Fatal(err)
		}
	}
	p.Stop()
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	escaped := strings.NewReplacer("%", "%25").Replace(password)
	ca := report.TLS{CA: report.Secret(authority.PEM)}
	client := report.TLS{CA: report.Secret(authority.PEM), Cert: report.Secret(mine), Key: report.Secret(mineKey)}
	for _, test := range []struct {
		account, options string
		tls              report.TLS
		want             string // of pg_stat_ssl; empty: an error
		login            bool   // the error is of a login
	}{
		{"app:" + escaped, "", report.TLS{}, `["true"]`, false},
		{"app:" + escaped, "?sslmode=prefer", report.TLS{}, `["true"]`, false},
		{"app:" + escaped, "?sslmode=require", report.TLS{}, `["true"]`, false},
		{"app:" + escaped, "", ca, `["true"]`, false},
		{"app:" + escaped, "?sslmode=disable", report.TLS{}, "", true},
		{"app:" + escaped, "?sslmode=verify-full", report.TLS{}, "", false}, // the system does not know the authority
		{"app:wrong", "?sslmode=require", report.TLS{}, "", true},
		{"plain:x", "?sslmode=disable", report.TLS{}, `["false"]`, false},
		{"plain:x", "", report.TLS{}, `["false"]`, false},
		{"plain:x", "?sslmode=require", report.TLS{}, "", true},
		{"certified:", "", client, `["true"]`, false},
		{"certified:", "", ca, "", true},
	} {
		s, err := Open(report.Database{DSN: report.Secret("postgres://" + test.account + "@" + p.Addr + "/postgres" +
			test.options), TLS: test.tls, MaxConnections: 1})
		if err != nil {
			t.Fatal(err)
		}
		b := &bundle{source: s}
		d, err := b.read(t.Context(), task(t, "SELECT ssl::text AS ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()", "ssl"))
		switch {
		case test.want != "" && (err != nil || d.JSON("ssl") != test.want):
			t.Errorf("%+v: %v, %v", test.options, d.Rows, err)
		case test.want == "" && (err == nil || errors.Is(err, listeners.ErrPermanent) || strings.Contains(err.Error(), password)):
			t.Errorf("%+v: %v", test.options, err)
		case test.login != errors.Is(s.Reach(t.Context()), fault.Login):
			t.Errorf("%+v: a login: %v, %v", test.options, err, s.Reach(t.Context()))
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
