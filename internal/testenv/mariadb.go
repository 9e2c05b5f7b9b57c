package testenv

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"
)

// MariaDB is a private mariadbd with an empty root password.
type MariaDB struct {
	Addr string // 127.0.0.1:port
	dir  string
	port int
	proc *process
}

// StartMariaDB creates a data folder in dir, starts a server on it and waits until it answers.
// Extra arguments are passed to mariadbd.
func StartMariaDB(ctx context.Context, dir string, extra ...string) (*MariaDB, error) {
	install, err := find("mariadb-install-db")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	m := &MariaDB{Addr: "127.0.0.1:" + strconv.Itoa(port), dir: dir, port: port}
	args := append([]string{"--no-defaults", "--datadir=" + m.data(), "--auth-root-authentication-method=normal", "--skip-test-db"}, runAs()...)
	if err := os.MkdirAll(m.temporary(), 0o700); err != nil {
		return nil, err
	}
	c := exec.CommandContext(ctx, install, args...)
	c.Env = append(os.Environ(), "TMPDIR="+m.temporary())
	if out, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("testenv: mariadb-install-db: %w: %s", err, out)
	}
	if err := m.Start(ctx, extra...); err != nil {
		return nil, err
	}
	return m, nil
}

// Start starts the server again after Stop or Kill, on the same port and with the same files.
func (m *MariaDB) Start(ctx context.Context, extra ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	args := []string{
		"--no-defaults", "--datadir=" + m.data(), "--port=" + strconv.Itoa(m.port), "--bind-address=127.0.0.1", "--tmpdir=" + m.temporary(),
		"--socket=" + filepath.Join(m.dir, "m.sock"), "--pid-file=" + filepath.Join(m.dir, "m.pid"),
		"--skip-name-resolve", "--character-set-server=utf8mb4", "--max-connections=500",
		"--innodb-flush-log-at-trx-commit=2", "--innodb-buffer-pool-size=256M",
	}
	p, err := startProcess("mariadbd", append(append(args, runAs()...), extra...)...)
	if err != nil {
		return err
	}
	db, err := m.Open("")
	if err != nil {
		p.kill()
		return err
	}
	defer db.Close()
	if err := p.await(ctx, func(ctx context.Context) error { return db.PingContext(ctx) }); err != nil {
		p.kill()
		return err
	}
	m.proc = p
	return nil
}

// DSN returns the go-sql-driver DSN of a schema, as root.
func (m *MariaDB) DSN(schema string) string { return "root@tcp(" + m.Addr + ")/" + schema }

// Open returns a pool on a schema. The caller closes it.
func (m *MariaDB) Open(schema string) (*sql.DB, error) {
	config, err := mysql.ParseDSN(m.DSN(schema))
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
func (m *MariaDB) Stop() { m.proc.stop() }

// Kill ends the server as a crash would.
func (m *MariaDB) Kill() { m.proc.kill() }

func (m *MariaDB) data() string { return filepath.Join(m.dir, "data") }

// temporary is the server's own folder: in a shared one, a server that starts would remove the
// temporary tables of others.
func (m *MariaDB) temporary() string { return filepath.Join(m.dir, "tmp") }

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
