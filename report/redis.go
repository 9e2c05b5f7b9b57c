package report

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
)

// Redis is the address of Redis: exactly one of the URL of a server, the nodes of a cluster,
// and the Sentinels of a master.
type Redis struct {
	// `redis://[user:password@]host[:port][/db]`, `rediss://` for TLS, or `unix://path`. `valkey://` and
	// `valkeys://` mean the same
	URL Secret `yaml:"url" file:"url_file" short:"" form:"redis"`
	// `host:port` of some nodes of a Redis Cluster; Fanfold finds the others. See [Redis Cluster](../guides/cluster.md)
	Cluster []string `yaml:"cluster" form:"server" min:"1"`
	// Sentinels that know which server is the master
	Sentinel Sentinel `yaml:"sentinel"`
	// ACL user of the servers, with `cluster` or `sentinel`
	User string `yaml:"user" unset:"the default user"`
	// Password of the servers, with `cluster` or `sentinel`
	Password Secret `yaml:"password" file:"password_file"`
	// Number of the database, with `sentinel`
	DB int `yaml:"db" with:"sentinel" default:"0" min:"0" max:"65535"`
	// `true` encrypts the connections, with `cluster` or `sentinel`. With `url`, write `rediss://`
	Encrypt bool `yaml:"tls" with:"cluster,sentinel" default:"false"`
	TLS     TLS
	// Number of parts into which the jobs are divided. All keys of a partition are in one slot of a cluster. See
	// [Partitions](../guides/cluster.md#choose-the-number-of-partitions)
	Partitions int `yaml:"partitions" default:"1" min:"1" max:"1024"`
}

// Sentinel names a master and the Sentinels that watch it.
type Sentinel struct {
	// Name of the master in the Sentinels
	Master string `yaml:"master" need:"Write the name that the Sentinels monitor, such as mymaster"`
	// `host:port` of the Sentinels. Those that are down are skipped
	Addresses []string `yaml:"addresses" form:"server" min:"1" need:"Write the host:port of each Sentinel"`
	// ACL user of the Sentinels
	User string `yaml:"user" unset:"the default user"`
	// Password of the Sentinels
	Password Secret `yaml:"password" file:"password_file"`
}

// TLS has the certificates of encrypted connections.
type TLS struct {
	CA        Secret // PEM: authorities that sign the server's certificate; empty means those of the system
	Cert, Key Secret // PEM: the client's certificate and its key; empty means none
}

// None reports whether there are no certificates.
func (t TLS) None() bool { return t == TLS{} }

// Errors of TLS.Config.
var (
	ErrCA   = errors.New("not a PEM certificate")
	ErrCert = errors.New("not a PEM certificate with its key")
)

// Config returns the TLS settings of a connection to a server. Pass an empty name for clients
// that set it themselves. The errors are ErrCA and ErrCert.
func (t TLS) Config(server string) (*tls.Config, error) {
	c := &tls.Config{ServerName: server, MinVersion: tls.VersionTLS12}
	if t.CA != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(t.CA)) {
			return nil, ErrCA
		}
	}
	if t.Cert != "" || t.Key != "" {
		pair, err := tls.X509KeyPair([]byte(t.Cert), []byte(t.Key))
		if err != nil {
			return nil, ErrCert // the error could quote the key
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
