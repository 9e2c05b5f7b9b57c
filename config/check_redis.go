package config

import (
	"errors"
	"net/url"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/report"
)

// checkRedis proves that the fields name exactly one Redis and fit together.
func (k *checker) checkRedis() {
	f := &k.f.Redis
	s := k.Of(f)
	sentinel, cluster := s.Get("sentinel"), s.Get("cluster")
	encrypt := f.Encrypt
	switch url := s.First("url", "url_file"); {
	case sentinel.Given() && url.Given():
		sentinel.Problem("both url and sentinel are set",
			"Remove one of them: the Sentinels know the address of the master")
	case cluster.Given() && (url.Given() || sentinel.Given()):
		cluster.Problem("cluster cannot be combined with url or sentinel", "Keep one of url, cluster and sentinel")
	case cluster.Given() && s.Get("db").Given():
		s.Get("db").Problem("a cluster has only database 0",
			"Remove it; use redis_keys.prefix and redis_keys.hash to separate installations")
	case !sentinel.Given() && !cluster.Given():
		for _, name := range s.Present("user", "password", "password_file", "db", "tls") {
			s.Get(name).Hidden().Problem("this field requires cluster or sentinel",
				"Put it into the URL: redis://user:password@host:port/db, with rediss:// for TLS")
		}
		encrypt = isEncrypted(f.URL)
		if !url.Given() && s.Readable() {
			s.Missing("url",
				"Write url: redis://[user:password@]host:port/db, cluster: [host:port, ...] or sentinel: {master: NAME, addresses: [...]}")
		}
	}
	f.Redis.TLS = certificates(s, f.tlsFields)
	if !f.Redis.TLS.None() && !encrypt && !s.Wrong() {
		remedy := "Use rediss:// instead of redis://"
		if sentinel.Given() || cluster.Given() {
			remedy = "Add tls: true"
		}
		s.First("ca_file", "cert_file", "key_file").Hidden().Problem("certificates have no effect without TLS", remedy)
	}
	k.config.Redis = f.Redis
}

// isEncrypted reports whether a Redis URL turns TLS on.
func isEncrypted(redis report.Secret) bool {
	u, err := url.Parse(redis.Reveal())
	return err == nil && (u.Scheme == "rediss" || u.Scheme == "valkeys")
}

// certificates validates and returns certificates.
func certificates(s decode.Section, f tlsFields) report.TLS {
	t := report.TLS{CA: report.Secret(f.CA), Cert: report.Secret(f.Cert), Key: report.Secret(f.Key)}
	cert, key := s.Get("cert_file").Hidden(), s.Get("key_file").Hidden()
	if s.Wrong("ca_file", "cert_file", "key_file") {
		return report.TLS{}
	}
	_, err := t.Config("")
	switch {
	case cert.Given() && !key.Given():
		cert.Problem("cert_file requires key_file", "Name the file with the key in key_file")
	case key.Given() && !cert.Given():
		key.Problem("key_file requires cert_file", "Name the file with the certificate in cert_file")
	case errors.Is(err, report.ErrCA):
		s.Get("ca_file").Hidden().Problem("the file contains no certificate",
			"Name a PEM file, which begins with -----BEGIN CERTIFICATE-----")
	case errors.Is(err, report.ErrCert):
		cert.Problem("cert_file and key_file are not a certificate and its key",
			"Name a PEM file with the certificate in cert_file, and one with its unencrypted key in key_file")
	default:
		return t
	}
	return report.TLS{}
}
