package scripts

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parts are those of a script's header, in their order; the purpose, which has no name, comes first.
var parts = []struct{ name, title string }{{"Uses", ""}, {"KEYS", "Keys"}, {"ARGV", "Arguments"}, {"Returns", "Returns"}, {"Errors", "Errors"}, {"Cost", "Cost"}}

var scriptsInTheDocs = regexp.MustCompile(`(?s)<!-- scripts -->\n.*<!-- end -->`)

// TestScriptsInTheDocs compares docs/reference/scripts.md with the headers of the scripts, and with
// -update writes it.
func TestScriptsInTheDocs(t *testing.T) {
	t.Parallel()
	const page = "../docs/reference/scripts.md"
	was, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	files, err := sources.ReadDir("lua")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files { // by their names
		if name := strings.TrimSuffix(f.Name(), ".lua"); strings.HasPrefix(mustRead(name), "#!lua") {
			all.WriteString(describe(t, name))
		}
	}
	is := scriptsInTheDocs.ReplaceAllLiteralString(string(was), "<!-- scripts -->\n"+all.String()+"<!-- end -->")
	if *update {
		if err := os.WriteFile(page, []byte(is), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(was), is); diff != "" {
		t.Errorf("%s is not what the scripts say (write it with: go test ./scripts -run TestScriptsInTheDocs -update):\n%s", page, diff)
	}
}

// TestEventsInTheDocs: the table of events in docs/reference/keys.md has those of the scripts and of Note, and no
// other.
func TestEventsInTheDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/reference/keys.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Events\n")
	table, _, _ := strings.Cut(section, "\nEvents of timers")
	documented := firsts(regexp.MustCompile("(?m)^\\| `([a-z]+)` \\|"), table)
	made := map[string]bool{}
	err = filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		made := func(form *regexp.Regexp) error {
			text, err := os.ReadFile(path)
			maps.Copy(made, firsts(form, string(text)))
			return err
		}
		switch {
		case err != nil || strings.HasSuffix(path, "_test.go"):
			return err
		case filepath.Ext(path) == ".lua":
			return made(regexp.MustCompile(`'event', '([a-z]+)'`))
		case filepath.Ext(path) == ".go":
			return made(regexp.MustCompile(`\.Note\([^,"]+, [^,"]+, [^,"]+, "([a-z]+)"`))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(made, "timer") // which has a table of its outcomes
	if diff := cmp.Diff(documented, made); diff != "" {
		t.Errorf("the table of events (-documented +made):\n%s", diff)
	}
}

// firsts returns the first groups of all matches.
func firsts(form *regexp.Regexp, text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range form.FindAllStringSubmatch(text, -1) {
		all[m[1]] = true
	}
	return all
}

// describe makes Markdown of a script's header, which has all parts but Uses, ARGV and Errors.
func describe(t *testing.T, name string) string {
	first, body, _ := strings.Cut(mustRead(name), "\n")
	said, at := map[string]string{}, 0
	part := ""
	for line := range strings.Lines(body) {
		line, ok := strings.CutPrefix(strings.TrimSpace(line), "--")
		if !ok {
			break
		}
		begins := false
		for i, p := range parts {
			if rest, ok := strings.CutPrefix(line, " "+p.name+" "); ok {
				if said[p.name] != "" || i < at {
					t.Errorf("%s: %s comes twice or too late", name, p.name)
				}
				part, at, begins, line = p.name, i, true, rest
				break
			}
		}
		if !begins && part == "Uses" { // which is one line
			part = ""
		}
		said[part] = strings.TrimSpace(said[part] + " " + strings.TrimSpace(line))
	}
	if !strings.HasSuffix(said[""], ".") {
		t.Errorf("%s: its purpose does not end with a full stop: %q", name, said[""])
	}
	if strings.Contains(first, "allow-oom") {
		said[""] += " It also runs when Redis is full."
	}
	var b strings.Builder
	plain := strings.NewReplacer("<", "&lt;", "*", `\*`)
	fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", name, plain.Replace(said[""]))
	for _, p := range parts {
		switch text := said[p.name]; {
		case p.title == "":
		case text != "":
			fmt.Fprintf(&b, "- **%s**: %s\n", p.title, plain.Replace(text))
		case p.name != "ARGV" && p.name != "Errors":
			t.Errorf("%s has no %s in its header", name, p.name)
		}
	}
	return b.String()
}
