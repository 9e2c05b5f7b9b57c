package kind

import "testing"

// TestOfDSN: the scheme of a data source name tells its kind.
func TestOfDSN(t *testing.T) {
	t.Parallel()
	all := Sources{
		{Name: "http", Field: "api"},
		{Name: "plain", Field: "database", DSN: &DSN{}},
		{Name: "other", Field: "database", DSN: &DSN{Schemes: []string{"other", "otherdb"}}},
	}
	for dsn, want := range map[string]string{
		"other://u@h/s": "other", "otherdb://h": "other", "u:p@tcp(h)/s": "plain", "unknown://h/s": "plain", "u:other://@tcp(h)/s": "plain", "": "plain",
	} {
		if got, ok := all.OfDSN(dsn); !ok || got.Name != want {
			t.Errorf("%q is of kind %q, not %q", dsn, got.Name, want)
		}
	}
	if got, ok := all[:1].OfDSN("u@h"); ok {
		t.Errorf("without a kind of database, a DSN is of kind %q", got.Name)
	}
	if got, ok := all.OfAPIs(); !ok || got.Name != "http" {
		t.Errorf("APIs are of kind %q", got.Name)
	}
}
