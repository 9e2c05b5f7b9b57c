package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
	"github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/record/postgres"
	"github.com/fanfold/fanfold/step"
)

// Stack has what an end-to-end test needs: a Redis, a schema, a folder for files and a configuration.
type Stack struct {
	testing.TB
	*process.Process                             // the configuration with its clients
	CLI              string                      // the options with which redis-cli reaches Redis
	Where            func(partitions int) string // the value of redis in the configuration
	Schema           string
	DB               *sql.DB
	Dir              string
	File             string // the configuration

	Server   Server
	Records  Records
	Receipts Receipts
	Jobs     Jobs
	States   States
	Files    Files
	Roles    Roles
}

// begin creates the schema, the configuration and the tables of a stack that has a Redis.
func (s *Stack) begin(partitions int, reports string, more ...string) {
	s.Helper()
	s.Schema, s.DB = testmain.Schema(s)
	s.Use(s.Divided("fanfold.yaml", partitions, reports, more...))
	r := s.Config.Records
	if len(r.Columns) == 0 && len(r.Statuses) == 0 {
		if _, err := record.Migrate(s.Context(), s.Rows, r.Table); err != nil {
			s.Fatal(err)
		}
	}
	if _, err := record.MigrateTables(s.Context(), s.Rows, r.Table); err != nil {
		s.Fatal(err)
	}
}

// Use opens a configuration, which the stack uses from now on.
func (s *Stack) Use(file string) {
	s.Helper()
	s.File = file
	s.Process = s.Open(file)
	s.assemble()
}

// assemble makes the parts of the stack for its test and its configuration.
func (s *Stack) assemble() {
	s.Server = Server{s.TB, s.Server.Redis, s.Process}
	s.Receipts = Receipts{s.TB, s.Process}
	s.Records = Records{s.TB, s.DB, s.Process.Records}
	if s.Rows.Kind == postgres.Kind {
		s.Records.DB = s.Rows.DB
	}
	s.Files = Files{s.TB, s.Dir, s.Process.Records}
	s.Jobs = Jobs{s.TB, s.Process, s.Records, s.Files}
	s.States = States{s.TB, s.Process, s.Records, s.Files}
	s.Roles = Roles{s.TB, s.Open, s.File, s.Files}
}

// In returns the stack for a subtest.
func (s *Stack) In(t testing.TB) *Stack {
	sub := *s
	sub.TB = t
	sub.assemble()
	return &sub
}

// Write writes a configuration of this stack.
func (s *Stack) Write(name, reports string, more ...string) string {
	s.Helper()
	return s.Divided(name, 1, reports, more...)
}

// Divided writes a configuration of this stack with this number of partitions.
func (s *Stack) Divided(name string, partitions int, reports string, more ...string) string {
	s.Helper()
	above := strings.Join(more, "\n")
	if !strings.Contains(above, "databases:") {
		above += "\ndatabases: {db: {dsn: \"{dsn}\"}}"
	}
	if !strings.Contains(above, "\nrecords:") {
		above += "\nrecords: {database: db}"
	}
	text := fmt.Sprintf("redis: %s\nsink: file://%s\n%s\nreports:\n%s",
		s.Where(partitions), filepath.Join(s.Dir, folder), above, reports)
	server := testmain.SharedDatabase(s)
	text = server.SQL(strings.NewReplacer("{schema}", s.Schema, "{dsn}", server.DSN(s.Schema)).Replace(text))
	file := filepath.Join(s.Dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	return file
}

// Open opens a configuration with the kinds of the command until the test ends.
func (s *Stack) Open(file string) *process.Process {
	s.Helper()
	p, err := process.Open(file, kinds.Standard())
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(p.Close)
	p.Version = "dev"
	return p
}

// Serve runs all roles in this process until the test ends, or stop is called.
func (s *Stack) Serve(file string) (stop func()) {
	s.Helper()
	return s.serve(s.Open(file), slog.NewTextHandler(testLog{s}, nil))
}

// ServeInto is Serve of the stack's configuration with a log that is kept, and with web pages if an
// address is given.
func (s *Stack) ServeInto(log *testmain.Log, http ...string) (stop func()) {
	s.Helper()
	p := s.Open(s.File)
	p.HTTP = strings.Join(http, "")
	return s.serve(p, slog.NewTextHandler(log, nil))
}

func (s *Stack) serve(p *process.Process, log slog.Handler) (stop func()) {
	ctx, cancel := context.WithCancel(s.Context())
	done := make(chan error, 1)
	go func() { done <- p.Serve(ctx, process.Roles, slog.New(log)) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			s.Errorf("serve: %v", err)
		}
	})
	s.Cleanup(stop)
	return stop
}

// Eventually polls until a condition holds.
func (s *Stack) Eventually(what string, holds func() bool) {
	s.Helper()
	Eventually(s, what, holds)
}

// Eventually polls until a condition holds. The pauses grow with the time that a check takes: a command that is
// polled takes time from the tests that run in parallel.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		began := time.Now()
		if holds() {
			return
		}
		if step.Wait(ctx, min(max(20*time.Millisecond, 4*time.Since(began)), 200*time.Millisecond)) != nil {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}
