package postgres

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fanfold/fanfold/report"
)

// ConnectConfig returns how to connect to a database. It does no I/O. Errors never contain a part of the DSN.
//
// The DSN sets address, account, database, TLS, the timeout of a dial, and settings of the session. Variables of the
// environment such as PGHOST have no effect.
func ConnectConfig(d report.Database) (*pgconn.Config, error) {
	of, wrong := parseDSN(d.DSN.Reveal())
	if wrong != nil {
		return nil, errors.New("postgres: " + wrong.Message)
	}
	// The driver refuses a Config that it has not made, and would take settings from the environment.
	c, err := pgconn.ParseConfig("host=fanfold user=fanfold sslmode=disable")
	if err != nil {
		return nil, errors.New("postgres: the environment variables of PostgreSQL (PG…) are not valid: unset them")
	}
	c.Host, c.Port, c.User, c.Password, c.Database = of.host, of.port, of.user, of.password, of.database
	c.ConnectTimeout = dialTimeout
	if seconds, err := strconv.Atoi(of.option("connect_timeout")); err == nil {
		c.ConnectTimeout = time.Duration(seconds) * time.Second
	}
	c.DialFunc = (&net.Dialer{Timeout: c.ConnectTimeout, KeepAlive: time.Minute}).DialContext
	c.Fallbacks, c.ValidateConnect, c.KerberosSrvName, c.KerberosSpn = nil, nil, "", ""
	c.SSLNegotiation, c.SSLCertMode, c.ChannelBinding, c.RequireAuth = "", "allow", "prefer", ""
	c.RuntimeParams = map[string]string{"client_encoding": "UTF8", "application_name": "fanfold"}
	for _, o := range of.options {
		if o.name != "sslmode" && o.name != "connect_timeout" {
			c.RuntimeParams[o.name] = o.value
		}
	}
	return c, setTLS(c, d.TLS, of)
}

// setTLS sets how connections are encrypted: by the certificates of the configuration, or else as sslmode says.
func setTLS(c *pgconn.Config, certificates report.TLS, of dsn) (err error) {
	socket := of.host[0] == '/'
	mode := of.option("sslmode")
	switch {
	case !certificates.None():
		if c.TLSConfig, err = certificates.Config(of.host); err != nil {
			return fmt.Errorf("postgres: %w", err)
		}
	case socket || mode == "disable":
		c.TLSConfig = nil
	case mode == "verify-full":
		c.TLSConfig = &tls.Config{ServerName: of.host, MinVersion: tls.VersionTLS12}
	default:
		c.TLSConfig = &tls.Config{ServerName: of.host, MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}
		if mode != "require" {
			c.Fallbacks = []*pgconn.FallbackConfig{{Host: c.Host, Port: c.Port}}
		}
	}
	return nil
}
