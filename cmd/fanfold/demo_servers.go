package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fanfold/fanfold/internal/testenv"
)

//go:embed demo/fanfold.yaml
var demoConfig string

//go:embed demo/full.yaml
var demoFullConfig string

//go:embed demo/data.sql
var demoData string

// demoServers are the private servers of a demo, and the configuration that
// leads to them.
type demoServers struct {
	config   string   // file
	redisCLI []string // begins a command for the demo's Redis
	vendor   string   // URL; only of the full demo
	stops    []func()
}

// startDemoServers starts servers with sample data and writes a configuration
// for them into dir.
func startDemoServers(ctx context.Context, dir string, full bool) (*demoServers, error) {
	s := &demoServers{config: filepath.Join(dir, "fanfold.yaml")}
	if err := s.start(ctx, "file://"+filepath.Join(dir, "files"), full); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *demoServers) start(ctx context.Context, files string, full bool) error {
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
	s.redisCLI = []string{"redis-cli", "-p", port}
	if dir, err = folder(); err != nil {
		return err
	}
	mariadb, err := testenv.StartMariaDB(ctx, dir)
	if err != nil {
		return err
	}
	s.stops = append(s.stops, mariadb.Stop)
	db, err := mariadb.Open("")
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, demoData); err != nil {
		return fmt.Errorf("sample data: %w", err)
	}
	text := demoConfig
	if full {
		text = demoFullConfig
		var stop func()
		if s.vendor, stop, err = startDemoVendor(); err != nil {
			return err
		}
		s.stops = append(s.stops, stop)
	}
	config := strings.NewReplacer(
		"${DEMO_VENDOR_TOKEN}", demoToken,
		"${DEMO_VENDOR}", s.vendor,
		"${DEMO_REDIS}", redis.URL(),
		"${DEMO_USER_DSN}", mariadb.DSN("plt_user"),
		"${DEMO_FUND_DSN}", mariadb.DSN("plt_fund"),
		"${DEMO_SINK}", files,
	).Replace(text)
	return os.WriteFile(s.config, []byte(config), 0o600)
}

// stop ends the servers and removes their files: what was started last ends first.
func (s *demoServers) stop() {
	for len(s.stops) > 0 {
		last := len(s.stops) - 1
		s.stops[last]()
		s.stops = s.stops[:last]
	}
}
