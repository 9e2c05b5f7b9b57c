package testenv

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
)

// DatabaseProgram is the environment variable that names a program to run instead of mariadbd: the
// mysqld of MySQL, or another mariadbd that has its mariadb-install-db in the same folder.
const DatabaseProgram = "FANFOLD_TEST_MYSQL"

// The size of the redo log, which a new server writes to disk in full.
const (
	redoLogMariaDB = "--innodb-log-file-size=16M"
	redoLogMySQL   = "--innodb-redo-log-capacity=16M"
)

// Database is a private mariadbd or mysqld with an empty root password.
type Database struct {
	Addr  string // 127.0.0.1:port
	MySQL bool   // not MariaDB
	dir   string
	port  int
	proc  *process
}

// StartDatabase creates a data folder in dir, starts a server on it and waits until it answers.
// Extra arguments are passed to the server.
func StartDatabase(ctx context.Context, dir string, extra ...string) (*Database, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	d := &Database{Addr: "127.0.0.1:" + strconv.Itoa(port), dir: dir, port: port}
	if err := os.MkdirAll(d.temporary(), 0o700); err != nil {
		return nil, err
	}
	if err := d.initialise(ctx); err != nil {
		return nil, err
	}
	if err := d.Start(ctx, extra...); err != nil {
		return nil, err
	}
	return d, nil
}

// Templates is a folder where StartDatabase keeps the new data folder of every program. It copies it for every
// server, which is faster than to create it. Empty: there are no copies. Set it before the first server starts.
var Templates string

// initialise creates the data folder, or copies it.
func (d *Database) initialise(ctx context.Context) error {
	program, err := find("mariadbd")
	if err != nil {
		return err
	}
	version, err := exec.CommandContext(ctx, program, "--version").Output()
	if err != nil {
		return fmt.Errorf("testenv: %s --version: %w", program, err)
	}
	d.MySQL = !strings.Contains(string(version), "MariaDB")
	if Templates == "" {
		return d.create(ctx, program, d.data())
	}
	template := filepath.Join(Templates, fmt.Sprintf("data-%x", sha256.Sum256([]byte(program+string(version)))))
	if _, err := os.Stat(template); err != nil {
		if err := d.createTemplate(ctx, program, template); err != nil {
			return err
		}
	}
	if err := os.CopyFS(d.data(), os.DirFS(template)); err != nil {
		return fmt.Errorf("testenv: copy %s: %w", template, err)
	}
	return nil
}

// createTemplate creates a template. If several processes create it, the first to end wins, and no other sees
// half of it.
func (d *Database) createTemplate(ctx context.Context, program, template string) error {
	if err := os.MkdirAll(Templates, 0o700); err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	dir, err := os.MkdirTemp(Templates, "new-")
	if err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	defer os.RemoveAll(dir)
	data := filepath.Join(dir, "data")
	if err := d.create(ctx, program, data); err != nil {
		return err
	}
	if err := os.Rename(data, template); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("testenv: %w", err)
	}
	return nil
}

// create creates a data folder: mysqld does so itself, MariaDB has a program for it.
func (d *Database) create(ctx context.Context, program, data string) error {
	args := append([]string{"--no-defaults", "--datadir=" + data}, runAs()...)
	if d.MySQL {
		// Without names of hosts, an account of localhost cannot connect over TCP.
		init := filepath.Join(d.temporary(), "init.sql")
		if err := os.WriteFile(init, []byte("RENAME USER root@localhost TO root@127.0.0.1;\n"), 0o600); err != nil {
			return err
		}
		args = append(args, "--initialize-insecure", "--init-file="+init, "--secure-file-priv=",
			"--tmpdir="+d.temporary(), redoLogMySQL)
	} else {
		args = append(args, "--auth-root-authentication-method=normal", "--skip-test-db", redoLogMariaDB)
		var err error
		if program, err = find("mariadb-install-db"); err != nil {
			return err
		}
	}
	c := exec.CommandContext(ctx, program, args...)
	c.Env = append(os.Environ(), "TMPDIR="+d.temporary())
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("testenv: %s: %w: %s", program, err, out)
	}
	return nil
}

// Start starts the server again after Stop or Kill, on the same port and with the same files.
func (d *Database) Start(ctx context.Context, extra ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	args := []string{
		"--no-defaults", "--datadir=" + d.data(), "--port=" + strconv.Itoa(d.port), "--bind-address=127.0.0.1",
		"--tmpdir=" + d.temporary(),
		"--socket=" + filepath.Join(d.dir, "m.sock"), "--pid-file=" + filepath.Join(d.dir, "m.pid"),
		"--skip-name-resolve", "--character-set-server=utf8mb4", "--max-connections=500",
		"--innodb-flush-log-at-trx-commit=2", "--innodb-buffer-pool-size=256M",
	}
	if d.MySQL {
		// MariaDB has no second port, and writes no binary log unless told.
		args = append(args, "--mysqlx=OFF", "--skip-log-bin", "--secure-file-priv=", redoLogMySQL)
	} else {
		args = append(args, redoLogMariaDB)
	}
	p, err := startProcess("mariadbd", append(append(args, runAs()...), extra...)...)
	if err != nil {
		return err
	}
	db, err := d.Open("")
	if err != nil {
		p.kill()
		return err
	}
	defer db.Close()
	if err := p.await(ctx, func(ctx context.Context) error { return db.PingContext(ctx) }); err != nil {
		p.kill()
		return err
	}
	d.proc = p
	return nil
}

// DSN returns the go-sql-driver DSN of a schema, as root.
func (d *Database) DSN(schema string) string { return "root@tcp(" + d.Addr + ")/" + schema }

// Open returns a pool on a schema. The caller closes it.
func (d *Database) Open(schema string) (*sql.DB, error) {
	config, err := mysql.ParseDSN(d.DSN(schema))
	if err != nil {
		return nil, err
	}
	config.MultiStatements = true
	config.Logger = &mysql.NopLogger{} // failures are expected while the server starts
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// Stop shuts the server down cleanly.
func (d *Database) Stop() { d.proc.stop() }

// Kill ends the server as a crash would.
func (d *Database) Kill() { d.proc.kill() }

func (d *Database) data() string { return filepath.Join(d.dir, "data") }

// temporary is the server's own folder: in a shared one, a server that starts would remove the
// temporary tables of others.
func (d *Database) temporary() string { return filepath.Join(d.dir, "tmp") }

// runAs allows root to start the server, which otherwise refuses.
func runAs() []string {
	if os.Geteuid() != 0 {
		return nil
	}
	if u, err := user.Current(); err == nil {
		return []string{"--user=" + u.Username}
	}
	return []string{"--user=root"}
}

// Freeze suspends the server until Thaw.
func (d *Database) Freeze() { d.proc.signal(syscall.SIGSTOP) }

// Thaw resumes a server after Freeze.
func (d *Database) Thaw() { d.proc.signal(syscall.SIGCONT) }
