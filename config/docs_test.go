package config

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// tables are the structs of which the documentation has tables, by their names there.
var tables = map[string]reflect.Type{
	"file": reflect.TypeFor[file](), "databases": reflect.TypeFor[databaseFields](), "apis": reflect.TypeFor[apiFields](),
	"records": reflect.TypeFor[recordFields](), "limits": reflect.TypeFor[Limits](), "keys": reflect.TypeFor[keyFields](),
	"reports": reflect.TypeFor[reportFields](), "parameters": reflect.TypeFor[parameterFields](), "retry": reflect.TypeFor[retryFields](),
	"listeners": reflect.TypeFor[listenerFields](), "external columns": reflect.TypeFor[typedFields](), "http columns": reflect.TypeFor[pathFields](),
	"request": reflect.TypeFor[request](), "submit": reflect.TypeFor[submitRequest](), "poll": reflect.TypeFor[pollRequest](), "result": reflect.TypeFor[resultRequest](),
	"join": reflect.TypeFor[joinFields](), "joined": reflect.TypeFor[joinedFields](), "csv": reflect.TypeFor[csvFields](), "columns": reflect.TypeFor[columnFields](),
	"timers": reflect.TypeFor[timerFields](), "timer submit": reflect.TypeFor[submitFields](), "timer append": reflect.TypeFor[appendFields](), "timer call": reflect.TypeFor[callFields](),
}

var tableForm = regexp.MustCompile(`(?s)<!-- fields of ([a-z ]+?)(?:, (kind|own) ?([a-z]*))? -->\n.*?<!-- end -->`)

// TestFieldsInTheDocs compares the tables of the documentation with the tags and
// comments of the fields, and with -update writes them.
func TestFieldsInTheDocs(t *testing.T) {
	texts, used := comments(t), map[string]bool{}
	for _, page := range []string{"../docs/configuration.md", "../docs/http.md", "../docs/external.md"} {
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
				if m[2] == "kind" && d.Kind == m[3] || m[2] == "own" && len(d.Index) == 1 || m[2] == "" {
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
