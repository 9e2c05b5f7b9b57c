package mysql

import (
	"testing"

	"github.com/go-sql-driver/mysql"
)

// FuzzDSN: the driver opens every DSN that a configuration may have, so that validate and serve
// agree.
func FuzzDSN(f *testing.F) {
	for _, seed := range []string{
		"u:p@tcp(h:3306)/s", "u@unix(/run/m.sock)/s?tls=preferred", "u:p@tcp([::1]:3306)/s%20x?loc=Europe%2FBerlin&timeout=1m30s",
		"@/", "/", "tcp/s?timeout=10", "u:p@tcp(h)/s?compress=1&sql_mode=%27ANSI%27", "u:p@tcp6([fe80::1%25eth0])/s?collation=utf8mb4_bin&interpolateParams=true",
		"u:p@tcp(h:99999)/s", "u@tcp()/s?tls=Skip-Verify&maxAllowedPacket=0", "u@foo()/s", "u@(h)/s", "u@tcp(h:3306)x/s", "u@tcp(h)/s?strict=true", "u@tcp(h)/s?&=&a", "tcp6()/",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		if badDSN(dsn) == nil {
			if _, err := mysql.ParseDSN(dsn); err != nil {
				t.Errorf("%q: the driver says %v", dsn, err)
			}
		}
	})
}
