package redisdb

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/report"
)

func TestMain(m *testing.M) {
	logging.Disable() // that a server is away is no news here
	testmain.Main(m)
}

// connect is Connect for a test.
func connect(t *testing.T, r report.Redis) redis.UniversalClient {
	t.Helper()
	client, err := Connect(r, 10, BlockingTimeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// TestURLs of each kind reach a server with an ACL user and its password.
func TestURLs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	server, err := testenv.StartRedis(t.Context(), dir, "--unixsocket", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	admin := server.Client()
	defer admin.Close()
	if err := admin.Do(t.Context(), "ACL", "SETUSER", "fanfold", "on", ">s3cret@/", "~*", "&*", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{
		"redis://fanfold:s3cret%40%2F@" + server.Addr + "/1", "valkey://fanfold:s3cret%40%2F@" + server.Addr + "/1", "unix://fanfold:s3cret%40%2F@" + socket + "?db=1",
	} {
		options := "?"
		if strings.Contains(url, "?") {
			options = "&"
		}
		client := connect(t, report.Redis{URL: report.Secret(url + options + "read_timeout=500ms")})
		if who := client.Do(t.Context(), "ACL", "WHOAMI"); who.Err() != nil || who.Val() != "fanfold" {
			t.Errorf("%s: %v", url, who)
		}
		if o := client.(*redis.Client).Options(); o.DB != 1 || o.ReadTimeout != BlockingTimeout {
			t.Errorf("%s: db %d, an answer may take %v", url, o.DB, o.ReadTimeout)
		}
	}
	_, err = Connect(report.Redis{URL: "redis://:s3cret%zz@x"}, 0, 0)
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a URL that is none: %v", err)
	}
}

// TestTLS needs the authority that signed the server's certificate, and shows the client's own.
func TestTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	authority, err := testenv.NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	issue := func() (cert, key []byte) {
		if cert, key, err = authority.Issue(); err != nil {
			t.Fatal(err)
		}
		return cert, key
	}
	cert, key := issue()
	for name, content := range map[string][]byte{"ca.pem": authority.PEM, "cert.pem": cert, "key.pem": key} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	listener.Close()
	server, err := testenv.StartRedis(t.Context(), dir, "--tls-port", port, "--tls-ca-cert-file", "ca.pem", "--tls-cert-file", "cert.pem", "--tls-key-file", "key.pem")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	ours := report.TLS{CA: report.Secret(authority.PEM)}
	cert, key = issue()
	ours.Cert, ours.Key = report.Secret(cert), report.Secret(key)
	url := report.Secret("rediss://" + address)
	for name, c := range map[string]struct {
		redis report.Redis
		want  string
	}{
		"all of it":             {report.Redis{URL: url, TLS: ours}, ""},
		"valkeys":               {report.Redis{URL: "valkeys" + url[len("rediss"):], TLS: ours}, ""},
		"no client certificate": {report.Redis{URL: url, TLS: report.TLS{CA: ours.CA}}, "certificate required"},
		"an unknown authority":  {report.Redis{URL: url}, "unknown authority"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		err := connect(t, c.redis).Ping(ctx).Err()
		cancel()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	bare := report.Redis{URL: report.Secret("redis://" + address)}
	err = connect(t, bare).Ping(t.Context()).Err()
	if hint := Hint(bare, err); !strings.Contains(hint, "write rediss://") {
		t.Errorf("without TLS: %v, hint %q", err, hint)
	}
}

// TestSentinel follows the master to the server that is promoted.
func TestSentinel(t *testing.T) {
	t.Parallel()
	s, err := testenv.StartSentinels(t.Context(), t.TempDir(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	r := report.Redis{Sentinel: report.Sentinel{Master: s.Master, Addresses: append([]string{"127.0.0.1:1"}, s.Addresses...)}, DB: 2}
	client := connect(t, r)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := client.Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if n, err := client.(*redis.Client).Wait(ctx, 1, 10*time.Second).Result(); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	if o := Server(ctx, r, client, ""); o.Addr != s.Servers[0].Addr || o.DB != 2 {
		t.Errorf("the master is %s, db %d", o.Addr, o.DB)
	}
	s.Servers[0].Kill()
	for client.Set(ctx, "k", "w", 0).Err() != nil {
		if ctx.Err() != nil {
			t.Fatal("no other server takes writes")
		}
	}
	if o := Server(ctx, r, client, ""); o.Addr != s.Servers[1].Addr {
		t.Errorf("the master is %s", o.Addr)
	}
}

// TestHints: what a configuration has that does not fit to the servers is named.
func TestHints(t *testing.T) {
	t.Parallel()
	plain, err := testenv.StartRedis(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plain.Stop)
	node, err := testenv.StartNode(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(node.Stop)
	for _, c := range []struct {
		redis report.Redis
		hint  string
	}{
		{report.Redis{Cluster: []string{plain.Addr}}, "write redis.url instead of redis.cluster"},
		{report.Redis{Sentinel: report.Sentinel{Master: "m", Addresses: []string{plain.Addr}}}, "this server is not a Sentinel"},
		{report.Redis{URL: report.Secret("rediss://" + plain.Addr)}, "write redis:// or tls: false"},
		{report.Redis{URL: report.Secret("redis://a:b@" + plain.Addr)}, "correct the user, its password"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		_, err := connect(t, c.redis).Get(ctx, "k").Result()
		cancel()
		if got := Hint(c.redis, err); !strings.Contains(got, c.hint) {
			t.Errorf("%v: %q", err, got)
		}
	}
	url := report.Redis{URL: report.Secret(node.URL())}
	info, err := connect(t, url).InfoMap(t.Context(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckMode(url, info["Server"]); err == nil || !strings.Contains(err.Error(), "node of a Redis Cluster") {
		t.Error(err)
	}
	url.Cluster = []string{node.Addr}
	if err := CheckMode(url, info["Server"]); err != nil {
		t.Error(err)
	}
}

// TestTooManyClients: the error has the server's own sentence, whichever kind of client meets it.
func TestTooManyClients(t *testing.T) {
	t.Parallel()
	server, err := testenv.StartRedis(t.Context(), t.TempDir(), "--maxclients", "1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	first := connect(t, report.Redis{URL: report.Secret("redis://" + server.Addr)})
	if err := first.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	for _, r := range []report.Redis{{URL: report.Secret("redis://" + server.Addr)}, {Cluster: []string{server.Addr}}} {
		err := connect(t, r).Ping(t.Context()).Err()
		if err == nil || !strings.Contains(err.Error(), `the server says "ERR max number of clients reached"`) || !strings.Contains(Hint(r, err), "maxclients") {
			t.Errorf("%v: %v, %s", r, err, Hint(r, err))
		}
	}
}
