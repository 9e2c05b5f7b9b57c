package fold_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

// keyFamily is a group of SQL types whose values can be equal keys, with values of all of them.
type keyFamily struct{ types, values []string }

var keyFamilies = []keyFamily{{
	types: []string{
		"TINYINT", "INT UNSIGNED ZEROFILL", "BIGINT", "BIGINT UNSIGNED", "DECIMAL(10)", "DECIMAL(20,5)", "FLOAT", "FLOAT(7,2)", "DOUBLE",
		"DOUBLE(10,2)", "YEAR", "BIT(8)", "BOOLEAN",
	},
	values: []string{
		"0", "-0.0", "1", "-1", "0.1", "0.10", "0.25", "0.5", "1.5", "2", "3", "100", "1999", "2024", "127", "255", "16777216", "16777217",
		"123456792", "1e10", "0.33333", "0.3333333333", "-0.1", "-2.5", "1e-7", "12345678901",
	},
}, {
	types: []string{"DATE", "DATETIME", "DATETIME(3)", "DATETIME(6)", "TIMESTAMP NULL", "TIMESTAMP(2) NULL", "TIMESTAMP(6) NULL"},
	values: []string{
		"2024-02-29", "2024-02-29 00:00:00.5", "2024-02-29 00:00:00.000001", "2024-02-29 23:59:59", "2024-02-29 23:59:59.120000", "2024-02-29 23:59:59.123",
		"2024-02-29 23:59:59.123456", "2024-03-01", "2024-03-01 00:00:00.1", "1999-12-31 23:59:59.99",
	},
}, {
	types: []string{"TIME", "TIME(1)", "TIME(2)", "TIME(6)"},
	values: []string{
		"00:00:00", "-00:00:00.5", "00:00:00.5", "10:00:00", "10:00:00.1", "10:00:00.100001", "10:00:00.12", "-10:00:00.12", "-10:00:00", "100:00:00", "838:59:59", "-838:59:59", "1:00:00",
	},
}, {
	types:  []string{"CHAR(9) COLLATE utf8mb4_nopad_bin", "VARCHAR(9) COLLATE utf8mb4_nopad_bin", "TEXT COLLATE utf8mb4_nopad_bin", latin1},
	values: []string{"", " ", "a", "A", "a ", " a", "aa", "é", "e", "ß", "ss", "1", "01", "1.0", "2024-02-29", "\\", "\"", "a\tb", "a\nb"},
}, {
	types:  []string{"BINARY(3)", "VARBINARY(9)", "BLOB", "TINYBLOB"},
	values: []string{"", " ", "a", "A", "a ", "a\x00\x00", "\x00", "\xff\xfe\xfd", "é", "abc"},
}}

// latin1 is a type that only MariaDB has with this collation.
const latin1 = "VARCHAR(9) CHARACTER SET latin1 COLLATE latin1_nopad_bin"

// families are the keyFamilies with the collations of the shared server.
func families(t *testing.T) []keyFamily {
	if !testmain.SharedDatabase(t).MySQL {
		return keyFamilies
	}
	all := slices.Clone(keyFamilies)
	for i, family := range all {
		all[i].types = nil
		for _, kind := range family.types {
			if kind != latin1 {
				all[i].types = append(all[i].types, strings.Replace(kind, "utf8mb4_nopad_bin", "utf8mb4_0900_bin", 1))
			}
		}
	}
	return all
}

// pairs calls f with every pair of types of a family.
func (family keyFamily) pairs(f func(left, right int)) {
	for left := range family.types {
		for right := left; right < len(family.types); right++ {
			f(left, right)
		}
	}
}

// TestKeysOfAllTypesAreMariaDBs: a join by columns of two types finds the rows that MariaDB's own
// join finds, for all pairs of types of a family.
func TestKeysOfAllTypesAreMariaDBs(t *testing.T) {
	t.Parallel()
	const rows = 80
	keyFamilies := families(t)
	var reports strings.Builder
	for n, family := range keyFamilies {
		family.pairs(func(left, right int) {
			fmt.Fprintf(&reports, `
  f%d_%d_%d:
    listeners: {
      l: {database: db, query: "SELECT id AS l, c%[2]d AS k FROM left%[1]d ORDER BY id"},
      r: {database: db, query: "SELECT id AS r, c%[3]d AS k FROM right%[1]d ORDER BY id"}}
    join: {key: k}
    file: {columns: [l, r]}
`, n, left, right)
		})
	}
	s := e2e.New(t, reports.String())
	s.Records.Exec("SET GLOBAL sql_mode = ''") // values out of range are clamped
	random := rand.New(rand.NewPCG(26, 11))
	for n, family := range keyFamilies {
		for _, side := range []string{"left", "right"} {
			s.Records.Exec(fmt.Sprintf("CREATE TABLE %s%d (id INT PRIMARY KEY) CHARACTER SET utf8mb4", side, n))
			for c, kind := range family.types {
				s.Records.Exec(fmt.Sprintf("ALTER TABLE %s%d ADD c%d %s", side, n, c, kind))
			}
			for id := range rows {
				values, insert := []any{id}, "?"
				for _, kind := range family.types {
					insert += ", ?"
					if strings.HasPrefix(kind, "BIT") {
						insert += " + 0" // a text would be its bytes
					}
					if at := random.IntN(len(family.values) + 1); at < len(family.values) {
						values = append(values, family.values[at])
					} else {
						values = append(values, nil)
					}
				}
				s.Records.Exec(fmt.Sprintf("INSERT IGNORE INTO %s%d VALUES (%s)", side, n, insert), values...)
			}
		}
	}
	s.Serve(s.File)
	for n, family := range keyFamilies {
		family.pairs(func(left, right int) {
			got := s.Jobs.Succeed(fmt.Sprintf("f%d_%d_%d", n, left, right), "")
			want := s.Records.Expect("l,r", fmt.Sprintf("SELECT l.id, r.id FROM left%d l JOIN right%[1]d r ON l.c%d = r.c%d ORDER BY l.id, r.id", n, left, right))
			if strings.Count(want, "\n") < 2 {
				t.Errorf("%s = %s: MariaDB finds nothing", family.types[left], family.types[right])
			}
			if got != want {
				t.Errorf("%s = %s (-MariaDB +Fanfold):\n%s", family.types[left], family.types[right], e2e.FirstDifference(want, got))
			}
		})
	}
}
