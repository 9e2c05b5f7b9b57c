package starter

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/internal/fault"
	"github.com/fanfold/fanfold/report"
)

// Database is an open database whose tables init reads. A kind of database implements it by its connection. Errors
// match fault.Login if the server refuses the account, and fault.Unreachable if it does not answer.
type Database interface {
	// Tables returns the tables and views that the account can see, with the columns and indexes, in their order.
	Tables(ctx context.Context) ([]kind.Table, error)
	// Newest returns the latest value of a column, which begins with its date as 2006-01-02; empty: there is none.
	Newest(ctx context.Context, t kind.Table, column string) (string, error)
	// Prepare lets the server check a listener's query without running it.
	Prepare(ctx context.Context, l *report.Listener) error
	// Close closes the connections.
	Close() error
}

const statementTimeout = 20 * time.Second

// table is a table or a view.
type table struct {
	kind.Table
	of      *source
	columns []*kind.Column
}

// Database returns the name of its database.
func (t *table) Database() string { return t.of.Name }

// find returns the column with a name, or nil.
func (t *table) find(name string) *kind.Column {
	i := slices.IndexFunc(t.columns, func(c *kind.Column) bool { return strings.EqualFold(c.Name, name) })
	if i >= 0 {
		return t.columns[i]
	}
	return nil
}

// asking calls a method of the database with a timeout. Its error has a remedy.
func (s *source) asking(ctx context.Context, ask func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	switch err := ask(ctx); {
	case err == nil:
		return nil
	case errors.Is(err, fault.Login):
		return fault.Unreachable.New("--database %s: %w\nThe server refuses this login or schema: correct the address, or put the password into the environment variable %s",
			s.Name, err, s.variable)
	case errors.Is(err, fault.Unreachable):
		return fault.Unreachable.New("--database %s: %w\nNo answer from the server: check the host and port of the address, and that the server runs",
			s.Name, err)
	default:
		return fmt.Errorf("--database %s: %w", s.Name, err)
	}
}

// readTables reads the tables of a database, without names that a query or a listener cannot have.
func (s *source) readTables(ctx context.Context) error {
	return s.asking(ctx, func(ctx context.Context) error {
		all, err := s.db.Tables(ctx)
		for _, one := range all {
			if !plain(one.Name) || internalName.MatchString(one.Name) {
				continue
			}
			t := &table{Table: one, of: s}
			for i, c := range one.Columns {
				if plain(c.Name) {
					t.columns = append(t.columns, &one.Columns[i])
				}
			}
			s.Tables = append(s.Tables, t)
		}
		return err
	})
}

// plain reports whether a name can be used in a query and as the column of a listener.
func plain(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool {
		return strings.ContainsRune("#`\uFFFD", r) || !unicode.IsPrint(r)
	})
}

// internalName matches tables of Fanfold and of migration tools, which have no data to report.
var internalName = regexp.MustCompile(`(?i)^fanfold_|_migrations$`)
