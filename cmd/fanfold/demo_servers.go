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
	redis   *testenv.Redis
	mariadb *testenv.MariaDB
	vendor  *demoVendor // only of the full demo
	folder  string      // of the servers' files
	config  string      // file
}

// startDemoServers starts servers with sample data and writes a configuration
// for them into dir.
func startDemoServers(ctx context.Context, dir string, full bool) (*demoServers, error) {
	folder, err := os.MkdirTemp("", "fanfold-demo-")
	if err != nil {
		return nil, err
	}
	s := &demoServers{folder: folder, config: filepath.Join(dir, "fanfold.yaml")}
	if err := s.start(ctx, "file://"+filepath.Join(dir, "files"), full); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *demoServers) start(ctx context.Context, files string, full bool) (err error) {
	for _, name := range []string{"redis", "mariadb"} {
		if err := os.Mkdir(filepath.Join(s.folder, name), 0o700); err != nil {
			return err
		}
	}
	if s.redis, err = testenv.StartRedis(ctx, filepath.Join(s.folder, "redis")); err != nil {
		return err
	}
	if s.mariadb, err = testenv.StartMariaDB(ctx, filepath.Join(s.folder, "mariadb")); err != nil {
		return err
	}
	db, err := s.mariadb.Open("")
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, demoData); err != nil {
		return fmt.Errorf("sample data: %w", err)
	}
	text, vendor := demoConfig, ""
	if full {
		if s.vendor, err = startDemoVendor(); err != nil {
			return err
		}
		text, vendor = demoFullConfig, s.vendor.url
	}
	config := strings.NewReplacer(
		"${DEMO_VENDOR_TOKEN}", demoToken,
		"${DEMO_VENDOR}", vendor,
		"${DEMO_REDIS}", s.redis.URL(),
		"${DEMO_USER_DSN}", s.mariadb.DSN("plt_user"),
		"${DEMO_FUND_DSN}", s.mariadb.DSN("plt_fund"),
		"${DEMO_SINK}", files,
	).Replace(text)
	return os.WriteFile(s.config, []byte(config), 0o600)
}

// redisCLI is how to start redis-cli on the demo's server.
func (s *demoServers) redisCLI() []string {
	_, port, _ := strings.Cut(s.redis.Addr, ":")
	return []string{"redis-cli", "-p", port}
}

// stop ends the servers and removes their files.
func (s *demoServers) stop() {
	if s.redis != nil {
		s.redis.Stop()
	}
	if s.mariadb != nil {
		s.mariadb.Stop()
	}
	if s.vendor != nil {
		s.vendor.stop()
	}
	_ = os.RemoveAll(s.folder)
}
