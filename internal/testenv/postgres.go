package testenv

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// PostgresProgram is the environment variable that names a program to run instead of the installed
// postgres. It has its initdb in the same folder.
const PostgresProgram = "FANFOLD_TEST_POSTGRES"

// Postgres is a private PostgreSQL server. Everyone on this machine can connect as the superuser postgres,
// without a password. A crash of the machine would lose its data.
type Postgres struct {
	Addr string // 127.0.0.1:port
	Dir  string // has the Unix socket
	port int
	user *syscall.Credential // of another user, because this one is root; nil: this one
	proc *process
}

// StartPostgres creates a data folder below the system's temporary folder, starts a server on it and waits
// until it answers. Extra arguments are passed to the server, such as "-cmax_connections=5".
//
// PostgreSQL refuses to run as root: then the user postgres, or nobody, runs the server and owns its folder.
func StartPostgres(ctx context.Context, extra ...string) (*Postgres, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	p := &Postgres{Addr: "127.0.0.1:" + strconv.Itoa(port), port: port}
	if p.Dir, err = os.MkdirTemp("", "fanfold-postgres-"); err != nil {
		return nil, fmt.Errorf("testenv: %w", err)
	}
	if err := p.initialise(ctx); err != nil {
		p.Close()
		return nil, err
	}
	if err := p.Start(ctx, extra...); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// initialise creates the data folder. That takes less than a second: a copy would not be faster.
func (p *Postgres) initialise(ctx context.Context) (err error) {
	if os.Geteuid() == 0 {
		if p.user, err = unprivileged(); err != nil {
			return err
		}
		if err := os.Chown(p.Dir, int(p.user.Uid), int(p.user.Gid)); err != nil {
			return fmt.Errorf("testenv: %w", err)
		}
	}
	program, err := find("initdb")
	if err != nil {
		return err
	}
	c := exec.CommandContext(ctx, program, "--pgdata="+p.data(), "--username=postgres", "--auth=trust", "--no-sync",
		"--encoding=UTF8", "--locale=C.UTF-8", "--wal-segsize=1", "--no-instructions")
	c.Dir, c.SysProcAttr = p.Dir, p.attributes()
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("testenv: %s: %w: %s", program, err, out)
	}
	return nil
}

// unprivileged returns a user that may run the server.
func unprivileged() (*syscall.Credential, error) {
	found, err := user.Lookup("postgres")
	if err != nil {
		found, err = user.Lookup("nobody")
	}
	if err != nil {
		return nil, fmt.Errorf("testenv: root cannot run PostgreSQL: %w", err)
	}
	uid, err := strconv.ParseUint(found.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("testenv: user %s: %w", found.Username, err)
	}
	gid, err := strconv.ParseUint(found.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("testenv: user %s: %w", found.Username, err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// attributes are those of a child that ends at once with this process. SIGKILL would leave shared memory.
func (p *Postgres) attributes() *syscall.SysProcAttr {
	a := childAttributes(syscall.SIGQUIT)
	a.Credential = p.user
	return a
}

// Start starts the server again after Stop or Kill, on the same port and with the same files.
func (p *Postgres) Start(ctx context.Context, extra ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	program, err := find("postgres")
	if err != nil {
		return err
	}
	c := exec.Command(program, append([]string{
		"-D", p.data(), "-p", strconv.Itoa(p.port), "-clisten_addresses=127.0.0.1",
		"-cunix_socket_directories=" + p.Dir, "-cmax_connections=200", "-cshared_buffers=32MB",
		"-cfsync=off", "-cfull_page_writes=off",
		"-cmax_wal_senders=0", "-cwal_level=minimal", "-cmin_wal_size=2MB", "-cmax_wal_size=256MB",
		"-cautovacuum=off", "-cjit=off",
	}, extra...)...)
	c.Dir = p.Dir
	proc, err := startCommand(c, p.attributes())
	if err != nil {
		return err
	}
	if err := proc.await(ctx, func(ctx context.Context) error { return p.Exec(ctx, "postgres", "") }); err != nil {
		proc.end(syscall.SIGQUIT, syscall.SIGKILL)
		return err
	}
	p.proc = proc
	return nil
}

// Standby restarts the server as one that others replicate from, and starts such a server, with a copy of its files.
func (p *Postgres) Standby(ctx context.Context) (*Postgres, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	s := &Postgres{Addr: "127.0.0.1:" + strconv.Itoa(port), port: port, user: p.user}
	if s.Dir, err = os.MkdirTemp("", "fanfold-postgres-"); err != nil {
		return nil, fmt.Errorf("testenv: %w", err)
	}
	p.Stop()
	replicates := []string{"-cwal_level=replica", "-cmax_wal_senders=4"}
	if err := errors.Join(s.copies(p), p.Start(ctx, replicates...)); err != nil {
		s.Close()
		return nil, err
	}
	from := "-cprimary_conninfo=host=127.0.0.1 user=postgres sslmode=disable port=" + strconv.Itoa(p.port)
	if err := s.Start(ctx, append(replicates, "-chot_standby=on", from)...); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// copies copies the files of a server that is stopped, with what makes them those of a standby.
func (p *Postgres) copies(from *Postgres) error {
	if err := os.CopyFS(p.data(), os.DirFS(from.data())); err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	if err := os.WriteFile(filepath.Join(p.data(), "standby.signal"), nil, 0o600); err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	if err := os.Chmod(p.data(), 0o700); err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	return filepath.WalkDir(p.Dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || p.user == nil {
			return err
		}
		return os.Chown(path, int(p.user.Uid), int(p.user.Gid))
	})
}

// DSN returns the URL of a database, as the superuser and over TCP. A new server has the database postgres.
func (p *Postgres) DSN(database string) string {
	return "postgres://postgres@" + p.Addr + "/" + database + "?sslmode=disable"
}

// Exec executes statements, separated by semicolons, in a database.
func (p *Postgres) Exec(ctx context.Context, database, statements string) (err error) {
	conn, err := pgconn.Connect(ctx, p.DSN(database))
	if err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	if err := conn.Exec(ctx, statements).Close(); err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	return nil
}

// Stop shuts the server down cleanly. It ends the connections of clients.
func (p *Postgres) Stop() { p.proc.end(syscall.SIGINT, syscall.SIGQUIT) }

// Kill ends the server as a crash would: it recovers at the next start.
func (p *Postgres) Kill() { p.proc.end(syscall.SIGQUIT, syscall.SIGKILL) }

// Close stops the server and removes its files.
func (p *Postgres) Close() {
	if p.proc != nil {
		p.Kill()
	}
	_ = os.RemoveAll(p.Dir)
}

func (p *Postgres) data() string { return filepath.Join(p.Dir, "data") }
