// Package demo answers one question: what does fanfold demo run on? It starts private servers with
// sample data and, for the full demo, the API of a vendor and the service of another team.
package demo

import (
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/fanfold/fanfold/internal/testenv"
)

//go:embed fanfold.yaml
var plainConfig string

//go:embed full.yaml
var fullConfig string

//go:embed data.sql
var data string

// Servers are the private servers of a demo, and the configuration that names them.
type Servers struct {
	Config   string   // file
	RedisCLI []string // the first words of a command for the demo's Redis
	Vendor   string   // URL; only of the full demo
	Site     string   // a free host:port for serve --http
	stops    []func()
}

// Start starts servers with sample data and writes their configuration to dir. It needs the programs
// of Redis and MariaDB.
func Start(ctx context.Context, dir string, full bool) (*Servers, error) {
	s := &Servers{Config: filepath.Join(dir, "fanfold.yaml")}
	if err := s.start(ctx, "file://"+filepath.Join(dir, "files"), full); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func (s *Servers) start(ctx context.Context, files string, full bool) error {
	folder := func() (string, error) {
		dir, err := os.MkdirTemp("", "fanfold-demo-")
		s.stops = append(s.stops, func() { _ = os.RemoveAll(dir) })
		return dir, err
	}
	dir, err := folder()
	if err != nil {
		return err
	}
	redis, err := testenv.StartRedis(ctx, dir)
	if err != nil {
		return err
	}
	s.stops = append(s.stops, redis.Stop)
	_, port, _ := strings.Cut(redis.Addr, ":")
	s.RedisCLI = []string{"redis-cli", "-p", port}
	if dir, err = folder(); err != nil {
		return err
	}
	database, err := testenv.StartDatabase(ctx, dir)
	if err != nil {
		return err
	}
	s.stops = append(s.stops, database.Stop)
	db, err := database.Open("")
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, database.SQL(data)); err != nil {
		return fmt.Errorf("sample data: %w", err)
	}
	if s.Site, err = freeAddress(ctx); err != nil {
		return err
	}
	text := plainConfig
	if full {
		text = fullConfig
		vendor := newVendor()
		if err := vendor.Start(); err != nil {
			return err
		}
		s.Vendor = vendor.URL
		s.stops = append(s.stops, vendor.Close)
	}
	config := strings.NewReplacer(
		"${DEMO_VENDOR_TOKEN}", token,
		"${DEMO_VENDOR}", s.Vendor,
		"${DEMO_REDIS}", redis.URL(),
		"${DEMO_USER_DSN}", database.DSN("plt_user"),
		"${DEMO_FUND_DSN}", database.DSN("plt_fund"),
		"${DEMO_SINK}", files,
		"${DEMO_SITE}", s.Site,
		"${DEMO_KEY}", rand.Text()+rand.Text(),
	).Replace(text)
	return os.WriteFile(s.Config, []byte(config), 0o600)
}

// freeAddress returns a free host:port of the loopback interface.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// Stop stops the servers, the last one first, and removes their files.
func (s *Servers) Stop() {
	for len(s.stops) > 0 {
		last := len(s.stops) - 1
		s.stops[last]()
		s.stops = s.stops[:last]
	}
}
