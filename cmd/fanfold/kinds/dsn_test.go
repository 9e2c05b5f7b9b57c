package kinds

import (
	"strings"
	"testing"

	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/config/decode"
)

// TestDSNOfNoKind: the remedy has the forms of all databases.
func TestDSNOfNoKind(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{"host=h user=app password=s3cr3t dbname=shop", "jdbc:postgresql://h:5432/shop?user=app"} {
		text := "redis: redis://h\ndatabases: {shop: {dsn: \"" + dsn + "\"}}\nrecords: {database: shop}\nsink: file:///srv\n" +
			"reports: {a: {listeners: {a: {database: shop, query: SELECT 1 AS a}}}}\n"
		_, err := config.Load("f.yaml", []byte(text), decode.Environment{}, Standard().Config())
		const want = "databases.shop.dsn: not a DSN. Write user:password@tcp(host:port)/schema or " +
			"postgres://user:password@host:port/database"
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
