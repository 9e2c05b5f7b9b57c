package command

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

// TestTextKeysInTheDocs checks the table of docs/reference/configuration.md that says which texts
// are equal keys: in Fanfold with every value of fold_case, and in the server with its collations.
func TestTextKeysInTheDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("^\\| `\"(.+)\"` `\"(.+)\"` \\| (.+) \\|$")
	var heads []string
	var pairs [][2]string
	want := map[string][]string{} // text of a column → the pairs that are equal in it
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "| texts | "); ok {
			heads = strings.Split(strings.TrimSuffix(rest, " |"), " | ")
		}
		m := row.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		pairs = append(pairs, [2]string{m[1], m[2]})
		cells := strings.Split(m[3], " | ")
		if len(cells) != len(heads) {
			t.Fatalf("%d cells below %d heads: %s", len(cells), len(heads), line)
		}
		for i, cell := range cells {
			switch cell {
			case "equal":
				want[heads[i]] = append(want[heads[i]], m[1]+" "+m[2])
			case "–":
			default:
				t.Errorf("%q in %s", cell, line)
			}
		}
	}
	if len(pairs) < 10 || len(heads) != 8 {
		t.Fatalf("the table has %d rows and the heads %q", len(pairs), heads)
	}
	var reports string
	folding := map[string]string{"default": "", "`fold_case: true`": ", fold_case: true", "`fold_case: full`": ", fold_case: full"}
	names := map[string]string{}
	for _, head := range heads[:3] {
		names[head] = fmt.Sprintf("keys%d", len(names))
		reports += fmt.Sprintf(`
  %s:
    listeners: {a: {database: db, query: "SELECT id, a AS word FROM pairs ORDER BY id"}, b: {database: db, query: "SELECT id, b AS word, CONCAT(a, ' ', b) AS both_of FROM pairs"}}
    join: {key: [id, word]%s}
    file: {columns: [both_of]}
`, names[head], folding[head])
	}
	s := newStack(t, reports)
	s.Records.Exec("CREATE TABLE pairs (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(20), b VARCHAR(20)) CHARACTER SET utf8mb4")
	for _, pair := range pairs {
		s.Records.Exec("INSERT INTO pairs (a, b) VALUES (?, ?)", pair[0], pair[1])
	}
	s.Serve(s.File)
	mysql := testmain.SharedDatabase(t).MySQL
	for i, head := range heads {
		var content string
		switch {
		case i < len(names):
			content = s.Jobs.Succeed(names[head], "")
		case mysql && strings.HasPrefix(head, "utf8mb4_uca1400_"), !mysql && strings.HasPrefix(head, "utf8mb4_0900_"):
			continue // a collation of the other server
		default:
			content = s.Records.Expect("both_of", "SELECT CONCAT(a, ' ', b) FROM pairs WHERE a = b COLLATE "+head+" ORDER BY id")
		}
		got := strings.Split(strings.TrimSuffix(content, "\r\n"), "\r\n")[1:]
		if diff := cmp.Diff(want[head], slices.Clip(got)); len(want[head])+len(got) > 0 && diff != "" {
			t.Errorf("equal by %s (-table +measured):\n%s", head, diff)
		}
	}
}
