package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fanfold/fanfold/internal/testenv"
)

// product is fanfold itself, built from this tree, with a Redis and a schema.
type product struct {
	program, config string
}

// buildProduct builds fanfold into a folder, if it is not there yet.
func buildProduct(ctx context.Context, dir string) (program string, err error) {
	program = filepath.Join(dir, "fanfold")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	return program, command(ctx, nil, "go", "build", "-C", "..", "-pgo", "cmd/fanfold/release.pgo", "-tags", "disable_grpc_modules", "-o", program, "./cmd/fanfold")
}

// newProduct writes a configuration into dir and makes the tables. Settings are
// those at the top of the configuration beside Redis, database, records and sink; the
// database has the name of the schema, which is there already.
func newProduct(ctx context.Context, program, dir string, server *testenv.Redis, m *testenv.Database, schema string, settings map[string]any) (product, error) {
	config := map[string]any{
		"redis":     server.URL(),
		"databases": map[string]any{schema: map[string]any{"dsn": m.DSN(schema)}},
		"records":   map[string]any{"database": schema},
		"sink":      "file://" + filepath.Join(dir, "files"),
	}
	maps.Copy(config, settings)
	text, err := json.Marshal(config) // JSON is YAML
	if err != nil {
		return product{}, err
	}
	p := product{program, filepath.Join(dir, "fanfold.yaml")}
	if err := os.WriteFile(p.config, text, 0o600); err != nil {
		return product{}, err
	}
	return p, p.do(ctx, "migrate")
}

// do runs a command of fanfold.
func (p product) do(ctx context.Context, args ...string) error {
	return command(ctx, io.Discard, p.program, append([]string{"-c", p.config}, args...)...)
}

// process is fanfold serve.
type process struct{ cmd *exec.Cmd }

// serve starts a process, which does the roles that are named, or all.
func (p product) serve(ctx context.Context, roles ...string) (*process, error) {
	if len(roles) > 0 {
		return p.serveWith(ctx, "--roles", strings.Join(roles, ","))
	}
	return p.serveWith(ctx)
}

// serveWith starts a process with more flags.
func (p product) serveWith(ctx context.Context, flags ...string) (*process, error) {
	args := append([]string{"-c", p.config, "serve", "--log-level", "warn"}, flags...)
	s := &process{exec.CommandContext(ctx, p.program, args...)}
	s.cmd.Stderr = os.Stderr
	return s, s.cmd.Start()
}

// stop ends the process and returns its largest resident set in MB.
func (s *process) stop() (peak float64, err error) {
	peak, err = peakMemory(s.cmd.Process.Pid)
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	return peak, errors.Join(err, s.cmd.Wait())
}

// peakMemory is the largest resident set of a process until now, in MB. What the
// kernel says of a process that has ended begins with that of its parent.
func peakMemory(pid int) (mb float64, err error) {
	file := fmt.Sprintf("/proc/%d/status", pid)
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kb float64
	if _, err := fmt.Sscanf(rest, "%f kB", &kb); err != nil {
		return 0, fmt.Errorf("%s: VmHWM: %w", file, err)
	}
	return kb * 1024 / 1e6, nil
}

// cpu is what the process has used since it began, by its CPU clock: the times in
// /proc/pid/stat are in steps of 10 ms, which is what an idle engine takes in two seconds.
func (s *process) cpu() (time.Duration, error) { return clockOf(s.cmd.Process.Pid) }

func clockOf(pid int) (time.Duration, error) {
	var used unix.Timespec
	err := unix.ClockGettime(int32(^pid<<3|2), &used) // as clock_getcpuclockid does
	return time.Duration(used.Nano()), err
}

// resident is the process's resident set now, in MB.
func (s *process) resident() (float64, error) {
	text, err := os.ReadFile(s.proc("statm"))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	return float64(pages) * float64(os.Getpagesize()) / 1e6, err
}

func (s *process) proc(file string) string {
	return filepath.Join("/proc", strconv.Itoa(s.cmd.Process.Pid), file)
}

func command(ctx context.Context, out io.Writer, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Stdout, c.Stderr = out, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return nil
}
