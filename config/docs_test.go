package config

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/listeners/http"
	"github.com/fanfold/fanfold/report"
)

// tables are the structs of which the documentation has tables, by their names there.
var tables = map[string]reflect.Type{
	"configuration": reflect.TypeFor[file](), "redis": reflect.TypeFor[redisFields](), "sentinel": reflect.TypeFor[report.Sentinel](), "databases": reflect.TypeFor[databaseFields](), "apis": reflect.TypeFor[apiFields](),
	"records": reflect.TypeFor[report.Records](), "limits": reflect.TypeFor[report.Limits](), "redis keys": reflect.TypeFor[report.Keys](), "admin": reflect.TypeFor[report.Admin](), "http": reflect.TypeFor[report.Site](), "traces": reflect.TypeFor[tracesFields](), "trusted header": reflect.TypeFor[report.TrustedHeader](),
	"reports": reflect.TypeFor[reportFields](), "parameters": reflect.TypeFor[report.Parameter](), "retry": reflect.TypeFor[report.Retry](), "on_failure": reflect.TypeFor[report.OnFailure](),
	"listeners": reflect.TypeFor[listenerFields](), "http columns": reflect.TypeFor[http.Field](),
	"request": reflect.TypeFor[http.Request](), "submit": reflect.TypeFor[http.Submit](), "poll": reflect.TypeFor[http.Poll](), "result": reflect.TypeFor[http.Result](),
	"join": reflect.TypeFor[report.Join](), "joined": reflect.TypeFor[report.Joined](), "sink": reflect.TypeFor[report.Sink](), "spool": reflect.TypeFor[report.Spool](), "divide": reflect.TypeFor[report.Divide](), "protect": reflect.TypeFor[report.Protect](), "file": reflect.TypeFor[report.File](), "columns": reflect.TypeFor[report.FileColumn](),
	"lanes": reflect.TypeFor[report.Lanes](), "lane by": reflect.TypeFor[report.LaneBy](), "lane weights": reflect.TypeFor[report.LaneWeight](), "classes": reflect.TypeFor[report.Class](), "groups": reflect.TypeFor[report.Group](),
	"notify": reflect.TypeFor[report.Notify](), "timers": reflect.TypeFor[report.Timer](), "schedule": reflect.TypeFor[scheduleFields](),
}

var tableForm = regexp.MustCompile(`(?s)<!-- fields of ([^,\n]+?)(?:, (own))? -->\n.*?<!-- end -->`)

// TestTablesOfAnyKind: the name of a kind may have more than letters.
func TestTablesOfAnyKind(t *testing.T) {
	t.Parallel()
	for head, want := range map[string][]string{
		"sink s3":           {"sink s3", ""},
		"source my-sql_2":   {"source my-sql_2", ""},
		"sink git+ssh, own": {"sink git+ssh", "own"},
	} {
		m := tableForm.FindStringSubmatch("<!-- fields of " + head + " -->\n<!-- end -->")
		if m == nil || !slices.Equal(m[1:], want) {
			t.Errorf("%s: %q", head, m)
		}
	}
}

// TestSinksInTheDocs: the reference describes every sink, which may have no fields of its own.
func TestSinksInTheDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/reference/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range TestKinds.Sinks {
		if !strings.Contains(string(page), "** (`"+s.Scheme+"://") {
			t.Errorf("docs/reference/configuration.md has no paragraph that begins with **NAME** (`%s`)", s.Form)
		}
	}
}

// TestFieldsInTheDocs compares the tables of the documentation with the tags and
// comments of the fields, and with -update writes them.
func TestFieldsInTheDocs(t *testing.T) {
	texts, used := comments(t), map[string]bool{}
	for table, kinds := range TestKinds.language().Kinds {
		for _, k := range kinds {
			if k.Fields != nil {
				own := reflect.TypeOf(k.Fields()).Elem()
				if tables[table+" "+k.Name] = own; k.Name == report.External {
					columns, _ := own.FieldByName("Columns")
					tables["external columns"] = columns.Type.Elem()
				}
			}
		}
	}
	pages, err := filepath.Glob("../docs/*/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		was, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		is := tableForm.ReplaceAllStringFunc(string(was), func(block string) string {
			m := tableForm.FindStringSubmatch(block)
			of, ok := tables[m[1]]
			if !ok {
				t.Fatalf("%s: no fields of %q", page, m[1])
			}
			used[m[1]] = true
			var fields []described
			for _, d := range describe(t, of, texts) {
				if m[2] == "own" && d.owner != reflect.TypeFor[http.Request]() || m[2] == "" {
					fields = append(fields, d)
				}
			}
			head, _, _ := strings.Cut(block, "\n")
			return head + "\n" + table(fields) + "<!-- end -->"
		})
		switch {
		case is == string(was):
		case *update:
			if err := os.WriteFile(page, []byte(is), 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("%s: its tables are not those of the fields (write them with: go test ./config -run TestFieldsInTheDocs -update)", page)
		}
	}
	for name := range tables {
		if !used[name] {
			t.Errorf("no page has the fields of %s", name)
		}
	}
}
