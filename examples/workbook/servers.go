package main

import (
	"context"
	_ "embed"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/sink/s3/s3test"
)

var (
	//go:embed mysql.sql
	orders string
	//go:embed postgres.sql
	customers string
)

const bucket = "reports" // of fanfold.yaml

// servers are private servers with the data of the example.
type servers struct {
	env   []string // the variables of fanfold.yaml
	store string   // what stands in for S3
	stops []func()
}

func start(ctx context.Context) (*servers, error) {
	s := &servers{}
	dir, err := os.MkdirTemp("", "fanfold-workbook-")
	if err != nil {
		return nil, err
	}
	s.stops = append(s.stops, func() { _ = os.RemoveAll(dir) })
	for _, begin := range []func(context.Context, string) error{s.redis, s.mysql, s.postgres, s.s3} {
		if err := begin(ctx, dir); err != nil {
			s.stop()
			return nil, err
		}
	}
	return s, nil
}

func (s *servers) redis(ctx context.Context, dir string) error {
	r, err := testenv.StartRedis(ctx, filepath.Join(dir, "redis"))
	if err != nil {
		return err
	}
	s.stops = append(s.stops, r.Stop)
	s.env = append(s.env, "REDIS_URL="+r.URL())
	return nil
}

func (s *servers) mysql(ctx context.Context, dir string) error {
	d, err := testenv.StartDatabase(ctx, filepath.Join(dir, "mysql"))
	if err != nil {
		return err
	}
	s.stops = append(s.stops, d.Stop)
	s.env = append(s.env, "SHOP_DSN="+d.DSN("shop"))
	db, err := d.Open("")
	if err != nil {
		return err
	}
	defer db.Close()
	const schema = "CREATE DATABASE shop CHARACTER SET utf8mb4; USE shop;"
	if _, err := db.ExecContext(ctx, d.SQL(schema+orders)); err != nil {
		return fmt.Errorf("mysql.sql: %w", err)
	}
	return nil
}

func (s *servers) postgres(ctx context.Context, _ string) error {
	p, err := testenv.StartPostgres(ctx)
	if err != nil {
		return err
	}
	s.stops = append(s.stops, p.Close)
	s.env = append(s.env, "CRM_DSN="+p.DSN("crm"))
	if err := p.Exec(ctx, "postgres", "CREATE DATABASE crm"); err != nil {
		return err
	}
	if err := p.Exec(ctx, "crm", customers); err != nil {
		return fmt.Errorf("postgres.sql: %w", err)
	}
	return nil
}

// s3 starts the MinIO that testenv.S3Program names, or a store for tests: no package of Debian has one.
func (s *servers) s3(ctx context.Context, dir string) error {
	url, accessKey, secretKey := "", s3test.AccessKey, s3test.SecretKey
	if program := os.Getenv(testenv.S3Program); program != "" {
		s.store = "MinIO, " + program
		// A folder becomes a bucket.
		if err := os.MkdirAll(filepath.Join(dir, "s3", "data", bucket), 0o700); err != nil {
			return err
		}
		minio, err := testenv.StartS3(ctx, filepath.Join(dir, "s3"))
		if err != nil {
			return err
		}
		s.stops = append(s.stops, minio.Stop)
		url, accessKey, secretKey = minio.URL, minio.AccessKey, minio.SecretKey
	} else {
		s.store = "the small store of Fanfold's tests, in memory. It speaks the API of S3, checks " +
			"signatures and honours If-None-Match. To use MinIO, name its program in " + testenv.S3Program + "."
		server := httptest.NewServer(s3test.New(bucket))
		s.stops = append(s.stops, server.Close)
		url = server.URL
	}
	s.env = append(s.env, "S3_ENDPOINT="+url, "AWS_ACCESS_KEY_ID="+accessKey, "AWS_SECRET_ACCESS_KEY="+secretKey,
		"AWS_SESSION_TOKEN=", "AWS_REGION=us-east-1")
	return nil
}

// stop stops the servers, the last one first, and removes their files.
func (s *servers) stop() {
	for len(s.stops) > 0 {
		last := len(s.stops) - 1
		s.stops[last]()
		s.stops = s.stops[:last]
	}
}
