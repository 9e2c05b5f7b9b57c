package config

import (
	"errors"
	"net/url"
	"strings"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// checkRedis proves that the fields name one Redis, and that they can be used together.
func (k *checker) checkRedis() {
	f := &k.f.Redis
	s := k.Of(f)
	sentinel, cluster := s.Get("sentinel"), s.Get("cluster")
	encrypt := f.Encrypt
	switch url := s.First("url", "url_file"); {
	case sentinel.Given() && url.Given():
		sentinel.Problem("both a URL and a sentinel", "Remove one of them: the Sentinels know the address of the master")
	case cluster.Given() && (url.Given() || sentinel.Given()):
		cluster.Problem("a cluster beside another Redis", "Give one of url, cluster and sentinel")
	case cluster.Given() && s.Get("db").Given():
		s.Get("db").Problem("a database number in a cluster", "Remove it: a cluster has database 0 alone; keys.prefix and keys.hash keep installations apart")
	case !sentinel.Given() && !cluster.Given():
		for _, name := range s.Present("user", "password", "password_file", "db", "tls") {
			s.Get(name).Hidden().Problem("a field that belongs to cluster or sentinel", "Put it into the URL: redis://user:password@host:port/db, with rediss:// for TLS")
		}
		encrypt = isEncrypted(f.URL)
		if !url.Given() && s.Readable() {
			s.Missing("url", "Write url: redis://[user:password@]host:port/db, cluster: [host:port, ...] or sentinel: {master: NAME, addresses: [...]}")
		}
	}
	f.Redis.TLS = k.tls(s, f.tlsFields)
	if !f.Redis.TLS.None() && !encrypt && !s.Wrong() {
		remedy := "Write rediss:// in place of redis://"
		if sentinel.Given() || cluster.Given() {
			remedy = "Add tls: true"
		}
		s.First("ca_file", "cert_file", "key_file").Hidden().Problem("a certificate without TLS", remedy)
	}
	k.config.Redis = f.Redis
}

// isEncrypted tells whether a URL of Redis asks for TLS.
func isEncrypted(redis report.Secret) bool {
	u, err := url.Parse(redis.Reveal())
	return err == nil && (u.Scheme == "rediss" || u.Scheme == "valkeys")
}

// checkDatabaseTLS gives a database its certificates.
func (k *checker) checkDatabaseTLS(d *databaseFields) {
	s := k.Of(d)
	d.Database.TLS = k.tls(s, d.tlsFields)
	if d.Database.TLS.None() {
		return
	}
	_, _, address, _ := splitDSN(d.DSN.Reveal())
	if _, options, _ := strings.Cut(address, "?"); strings.Contains("&"+options, "&tls=") {
		s.First("ca_file", "cert_file", "key_file").Hidden().Problem("a certificate, and a DSN with tls", "Remove tls from the DSN: the certificates ask for TLS")
	}
}

// tls proves that certificates can be used.
func (k *checker) tls(s decode.Section, f tlsFields) report.TLS {
	t := report.TLS{CA: report.Secret(f.CA), Cert: report.Secret(f.Cert), Key: report.Secret(f.Key)}
	cert, key := s.Get("cert_file").Hidden(), s.Get("key_file").Hidden()
	if s.Wrong("ca_file", "cert_file", "key_file") {
		return report.TLS{}
	}
	_, err := t.Config("")
	switch {
	case cert.Given() && !key.Given():
		cert.Problem("a certificate without its key", "Name the file with the key in key_file")
	case key.Given() && !cert.Given():
		key.Problem("a key without its certificate", "Name the file with the certificate in cert_file")
	case errors.Is(err, report.ErrCA):
		s.Get("ca_file").Hidden().Problem("no certificate in the file", "Name a PEM file, which begins with -----BEGIN CERTIFICATE-----")
	case errors.Is(err, report.ErrCert):
		cert.Problem("the two files are not a certificate and its key", "Name a PEM file with the certificate in cert_file, and one with its unencrypted key in key_file")
	default:
		return t
	}
	return report.TLS{}
}
