package record_test

import (
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/fanfold/fanfold/record"
	"github.com/fanfold/fanfold/record/postgres"
	"github.com/fanfold/fanfold/report"
	"github.com/google/go-cmp/cmp"
)

// pages reads all that is startable, page by page.
func pages(t *testing.T, s *Store, grace time.Duration, size int) []string {
	t.Helper()
	var ids []string
	for after := ""; ; after = ids[len(ids)-1] {
		page, err := s.Startable(t.Context(), after, grace, size)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page {
			ids = append(ids, r.ID)
		}
		if len(page) < size {
			return ids
		}
	}
}

func TestStartableInPages(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{Filter: "report <> 'other'"})
		run(t, db, `INSERT INTO file_download_record (id, report, status, updated_at) SELECT seq, CASE WHEN seq % 7 = 0 THEN 'other' ELSE 'r' END,
			CASE seq % 4 WHEN 0 THEN 'PENDING' WHEN 1 THEN 'SUCCESS' WHEN 2 THEN 'PROCESSING' ELSE 'FAILED' END, NOW(6) - INTERVAL (CASE WHEN seq % 5 = 0 THEN 1 ELSE 100 END) SECOND FROM seq_1_to_100`)
		run(t, db, "INSERT INTO file_download_record (id, report, updated_at) VALUES ("+fmt.Sprint(most(k))+", 'r', NOW(6) - INTERVAL 100 SECOND)")
		var want []string
		for i := 1; i <= 100; i++ {
			if i%2 == 0 && i%7 != 0 && i%5 != 0 {
				want = append(want, fmt.Sprint(i))
			}
		}
		want = append(want, fmt.Sprint(most(k)))
		for _, size := range []int{1, 3, 100} {
			if diff := cmp.Diff(want, pages(t, s, time.Minute, size)); diff != "" {
				t.Errorf("pages of %d (-want +got):\n%s", size, diff)
			}
		}
		page, err := s.Startable(t.Context(), "1", time.Minute, 1)
		if err != nil || len(page) != 1 || page[0].Report != "r" || page[0].Status != "PROCESSING" || page[0].Age < time.Minute {
			t.Errorf("%+v %v", page, err)
		}
	})
}

func TestStartableOfTextIDs(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		_, db := pool(t, k)
		run(t, db, foreign)
		run(t, db, "INSERT INTO `Downloads` (`key`, kind, state, owner, changed) VALUES ('a', 'r', 0, 'fanfold', NULL), ('B', 'r', 1, 'fanfold', '2001-01-01'), ('c', 'r', 0, 'x?', '2001-01-01'), ('10', 'r', 0, 'fanfold', NULL), ('9', 'r', 1, 'fanfold', NULL), ('d', 'r', 1, 'other', NULL), ('e', 'r', 2, 'fanfold', NULL), ('f', 'r', 7, 'fanfold', NULL), ('g', 'r', 0, 'fanfold', NOW())")
		s := store(t, db, foreignOptions("Downloads"))
		for _, size := range []int{1, 2, 10} {
			if diff := cmp.Diff([]string{"10", "9", "a", "B", "c"}, pages(t, s, time.Minute, size)); diff != "" {
				t.Errorf("pages of %d (-want +got):\n%s", size, diff)
			}
		}
	})
}

// TestStartableInTheOrderOfTheColumn: no page leaves out an id, whatever the order of the ids is.
func TestStartableInTheOrderOfTheColumn(t *testing.T) {
	t.Parallel()
	_, db := pool(t, postgres.Kind)
	run(t, db, "CREATE EXTENSION citext")
	run(t, db, "CREATE DOMAIN folded AS citext")
	for column, want := range map[string][]string{
		"citext": {"a", "B", "c"}, "folded": {"a", "B", "c"}, "name": {"B", "a", "c"}, "char(3)": {"B", "a", "c"},
		`varchar(3) COLLATE "und-x-icu"`: {"a", "B", "c"},
	} {
		run(t, db, "DROP TABLE IF EXISTS d")
		run(t, db, "CREATE TABLE d (id "+column+" PRIMARY KEY, report text, parameters json, status text, attempt int, file text, row_count bigint, error text, updated_at timestamptz)")
		run(t, db, "INSERT INTO d (id, report, status) VALUES ('a', 'r', 'PENDING'), ('B', 'r', 'PROCESSING'), ('c', 'r', 'PENDING')")
		if diff := cmp.Diff(want, pages(t, store(t, db, report.Records{Table: "d"}), time.Minute, 1)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", column, diff)
		}
	}
}

// TestStartableOfPartitions: every record belongs to one partition, and its pages are in the order of the ids.
func TestStartableOfPartitions(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		run(t, db, "INSERT INTO file_download_record (id, report, updated_at) SELECT seq, 'r', NOW(6) - INTERVAL 1 HOUR FROM seq_1_to_300")
		run(t, db, "UPDATE file_download_record SET status = 'PROCESSING', updated_at = NOW(6) - INTERVAL 1 HOUR WHERE id > 200")
		run(t, db, "UPDATE file_download_record SET status = 'FAILED' WHERE id > 50 AND id < 120")
		// Of 40 partitions, most read ids of which none is theirs.
		for partitions, size := range map[int]int{3: 7, 40: 1} {
			all := map[string]int{}
			for index := range partitions {
				part, last := s.Partition(index, partitions), 0
				for after := ""; ; after = fmt.Sprint(last) {
					page, err := part.Startable(t.Context(), after, time.Minute, size)
					if err != nil {
						t.Fatal(err)
					}
					if len(page) == 0 {
						break
					}
					if len(page) > size {
						t.Fatalf("a page of %d", len(page))
					}
					for _, r := range page {
						id, err := strconv.Atoi(r.ID)
						if err != nil || id <= last || report.Partition(r.ID, partitions) != index || r.Report != "r" {
							t.Fatalf("%+v after %d in partition %d: %v", r, last, index, err)
						}
						last = id
						all[r.ID]++
					}
				}
			}
			if len(all) != 300-69 {
				t.Errorf("%d records in %d partitions", len(all), partitions)
			}
		}
	})
}

// TestStartableReadsFewRows of a large table of records that are done: it goes
// along an index.
func TestStartableReadsFewRows(t *testing.T) {
	each(t, func(t *testing.T, k *Kind) {
		s, db := own(t, k, report.Records{})
		const rows = 200_000
		run(t, db, fmt.Sprintf(`INSERT INTO file_download_record (report, status, updated_at) SELECT 'r',
			CASE WHEN seq %% 1000 = 0 THEN 'PENDING' WHEN seq %% 1000 = 1 THEN 'PROCESSING' ELSE 'SUCCESS' END, NOW(6) - INTERVAL 1 DAY FROM seq_1_to_%d`, rows))
		run(t, db, "ANALYZE TABLE file_download_record")
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for _, after := range []string{"", "100000"} {
			query, args, err := s.StartableStatement(t.Context(), after, time.Minute, 50)
			if err != nil {
				t.Fatal(err)
			}
			plan := explain(t, conn, query, args)
			if sorts := of(k, strings.Contains(plan, "filesort") && !strings.Contains(plan, "UNION RESULT"), strings.Contains(plan, "Seq Scan")); sorts || strings.Count(plan, "status_id") < 2 {
				t.Errorf("after %q:\n%s", after, plan)
			}
			handlers := of(k, handlers, fetched)
			if _, err := conn.ExecContext(t.Context(), "BEGIN"); err != nil {
				t.Fatal(err)
			}
			before := handlers(t, conn)
			found, err := conn.QueryContext(t.Context(), query, args...)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for found.Next() {
				n++
			}
			if err := found.Close(); err != nil || n != 50 {
				t.Errorf("%d rows, %v", n, err)
			}
			if read := handlers(t, conn) - before; read < 50 || read > 1000 {
				t.Errorf("after %q: %d rows read for a page of 50", after, read)
			}
			if _, err := conn.ExecContext(t.Context(), "ROLLBACK"); err != nil {
				t.Fatal(err)
			}
		}
		if ids := pages(t, s, time.Minute, 100); len(ids) != rows/500 {
			t.Errorf("%d ids", len(ids))
		}
	})
}

func explain(t *testing.T, conn *sql.Conn, query string, args []any) string {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), "EXPLAIN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	cells, targets := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range cells {
		targets[i] = &cells[i]
	}
	var plan strings.Builder
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		for _, c := range cells {
			plan.WriteString(c.String + " | ")
		}
		plan.WriteByte('\n')
	}
	return plan.String()
}

// handlers counts the rows that this session has read so far.
func handlers(t *testing.T, conn *sql.Conn) (sum int64) {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), "SHOW SESSION STATUS WHERE Variable_name IN ('Handler_read_first', 'Handler_read_key', 'Handler_read_next', 'Handler_read_rnd_next')")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var n int64
		if err := rows.Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// fetched counts the rows that this transaction has read so far from indexes of PostgreSQL and from tables.
func fetched(t *testing.T, conn *sql.Conn) (sum int64) {
	t.Helper()
	if err := conn.QueryRowContext(t.Context(), "SELECT SUM(pg_stat_get_xact_tuples_returned(oid)) FROM pg_class WHERE relname LIKE 'file_download_record%'").Scan(&sum); err != nil {
		t.Fatal(err)
	}
	return sum
}
