package tpch

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Load creates the tables of databases, by their place, and the files of the API in a folder, and fills them with Rows.
// A table that exists is replaced.
func Load(ctx context.Context, databases map[string]*sql.DB, folder string, scale float64, seed uint64) error {
	l := &loader{ctx: ctx, tables: map[string]*loading{}}
	for _, t := range Tables {
		l.tables[t.Name] = &loading{Table: t, db: databases[t.Place]}
		if t.Place == "geography" {
			continue
		}
		statement := "CREATE OR REPLACE TABLE " + t.Name + " (" + t.Columns + ")"
		if _, err := databases[t.Place].ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	if err := Rows(scale, seed, l.add); err != nil {
		return err
	}
	for _, t := range l.tables {
		if err := l.end(t, folder); err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
	}
	return nil
}

// loader fills the tables.
type loader struct {
	ctx    context.Context
	tables map[string]*loading
}

// loading is a table with the rows that are not yet written.
type loading struct {
	Table
	db   *sql.DB
	rows [][]any
}

// batch is the number of rows of one INSERT.
const batch = 500

func (l *loader) add(table string, row ...any) error {
	t := l.tables[table]
	if t.rows = append(t.rows, row); len(t.rows) < batch || t.db == nil {
		return nil
	}
	return l.insert(t)
}

func (l *loader) insert(t *loading) error {
	if len(t.rows) == 0 {
		return nil
	}
	var values []any
	for _, row := range t.rows {
		values = append(values, row...)
	}
	row := "(" + strings.TrimSuffix(strings.Repeat("?, ", len(t.rows[0])), ", ") + ")"
	statement := "INSERT INTO " + t.Name + " VALUES " + row + strings.Repeat(", "+row, len(t.rows)-1)
	_, err := t.db.ExecContext(l.ctx, statement, values...)
	t.rows = nil
	return err
}

// end writes the last rows of a table, or the file of the API.
func (l *loader) end(t *loading, folder string) error {
	if t.db != nil {
		return l.insert(t)
	}
	var rows []map[string]any
	for _, row := range t.rows {
		object := map[string]any{}
		for i, column := range strings.Split(t.Columns, ", ") {
			name, _, _ := strings.Cut(column, " ")
			object[name] = row[i]
		}
		rows = append(rows, object)
	}
	text, err := json.Marshal(map[string]any{"rows": rows})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, t.Name+".json"), text, 0o600)
}
