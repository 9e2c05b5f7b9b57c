package why

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestKindsInTheDocs: the guide to stuck jobs has every kind that why gives, and the guarantees no other.
func TestKindsInTheDocs(t *testing.T) {
	t.Parallel()
	word := regexp.MustCompile("`([a-z]+(?:-[a-z]+)*)`")
	for page, column := range map[string]int{"guides/stuck-job.md": 1, "explanation/guarantees.md": 3} {
		text, err := os.ReadFile("../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		known, found := Kinds(), 0
		missing := slices.Clone(known)
		for line := range strings.Lines(string(text)) {
			cells := strings.Split(line, "|")
			if len(cells) <= column+2 || cells[0] != "" {
				continue
			}
			for _, m := range word.FindAllStringSubmatch(cells[column], -1) {
				missing = slices.DeleteFunc(missing, func(k Kind) bool { return string(k) == m[1] })
				switch {
				case slices.Contains(known, Kind(m[1])):
					found++
				case strings.Contains(m[1], "-"): // a single word may be another thing, such as a field
					t.Errorf("%s: why gives no kind %s", page, m[1])
				}
			}
		}
		if page == "guides/stuck-job.md" && len(missing) > 0 {
			t.Errorf("%s lacks the kinds %s", page, missing)
		}
		if found < 15 {
			t.Errorf("%s names only %d kinds", page, found)
		}
	}
}
