package command

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"strconv"
	"strings"

	"github.com/fanfold/fanfold/cmd/fanfold/process"
	"github.com/fanfold/fanfold/internal/audit"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/internal/stored"
	"github.com/fanfold/fanfold/operate"
	"github.com/fanfold/fanfold/record"
	"github.com/spf13/cobra"
)

// backend is a configuration with the clients of the servers that it names.
type backend struct{ *process.Process }

// open reads a configuration and creates its clients. It opens no connections.
func (f *flags) open(file string) (*backend, error) {
	p, err := process.Open(file, f.kinds)
	if err != nil {
		return nil, err
	}
	p.Version = version
	return &backend{p}, nil
}

// connected wraps a function that needs the backend. It fails if the keys in Redis belong to another
// number of partitions or to another installation.
func (f *flags) connected(
	run func(c *cobra.Command, b *backend, args []string) error,
) func(*cobra.Command, []string) error {
	return f.opened(func(c *cobra.Command, b *backend, args []string) error {
		if err := b.CheckOwner(c.Context()); err != nil {
			return err
		}
		return run(c, b, args)
	})
}

// opened is connected without the check of the keys.
func (f *flags) opened(
	run func(c *cobra.Command, b *backend, args []string) error,
) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		b, err := f.open(f.config)
		if err != nil {
			return err
		}
		defer b.Close()
		c.SetContext(audit.With(c.Context(), &audit.Actor{
			Who: caller(), By: audit.Command, Log: f.logger(c.ErrOrStderr()),
		}))
		return b.explain(run(c, b, args))
	}
}

// caller returns user@host of this process.
func caller() string {
	name := strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, _ := os.Hostname()
	return name + "@" + host
}

// withIDs is connected for a command whose arguments are ids of records.
func (f *flags) withIDs(
	run func(c *cobra.Command, b *backend, ids []string) error,
) func(*cobra.Command, []string) error {
	return f.connected(func(c *cobra.Command, b *backend, ids []string) error {
		if err := checkIDs(ids); err != nil {
			return err
		}
		return run(c, b, ids)
	})
}

func checkIDs(ids []string) error {
	for _, id := range ids {
		if err := operate.CheckID(id); err != nil {
			return err
		}
	}
	return nil
}

// explain adds the remedy to an error of the database of the records, and of what a newer release stored.
func (b *backend) explain(err error) error {
	name := b.Config.Records.Database
	class, answered := b.Records.Kind().Class(err)
	switch {
	case stored.IsNewer(err):
		return fmt.Errorf("%w\nThis is fanfold %s; %s", err, version, stored.Remedy)
	case class&record.Refused != 0:
		return fault.Login.New("%w\nDatabase %s refuses the login: correct databases.%s in the configuration, or the account's grants", err, name, name)
	case class&record.NoTable != 0 && !strings.Contains(err.Error(), "fanfold migrate"):
		return fmt.Errorf("%w\nTable %s does not exist in database %s: create it with fanfold migrate, or name your own table in records.table", err, b.Config.Records.Table, name)
	case class&record.Away != 0 && !answered:
		return fault.Unreachable.New("database %s does not answer: %w", name, err)
	}
	return err
}

// logger returns the logger of a command, which writes to w.
func (f *flags) logger(w io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: f.logLevel}
	if f.logJSON {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
