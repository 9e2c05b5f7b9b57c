package testenv

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"
)

// S3Program is the environment variable that names a MinIO server, on which the tests of the S3 API then
// run.
const S3Program = "FANFOLD_TEST_S3"

// S3 is a private MinIO server.
type S3 struct {
	URL       string // http://127.0.0.1:port
	AccessKey string
	SecretKey string
	proc      *process
}

// StartS3 starts the server that S3Program names with files in dir, and waits until it answers.
func StartS3(ctx context.Context, dir string) (*S3, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("testenv: %w", err)
	}
	addr := "127.0.0.1:" + strconv.Itoa(port)
	s := &S3{URL: "http://" + addr, AccessKey: "minioadmin", SecretKey: "minioadmin"}
	s.proc, err = startProcess("env", "MINIO_BROWSER=off", "MINIO_UPDATE=off", "HOME="+dir, os.Getenv(S3Program),
		"server", "--quiet", "--address", addr, dir+"/data")
	if err != nil {
		return nil, err
	}
	if err := s.proc.await(ctx, s.ready); err != nil {
		s.proc.kill()
		return nil, err
	}
	return s, nil
}

func (s *S3) ready(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/minio/health/live", nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("testenv: MinIO is not ready: %s", answer.Status)
	}
	return nil
}

// Stop stops the server.
func (s *S3) Stop() { s.proc.stop() }
