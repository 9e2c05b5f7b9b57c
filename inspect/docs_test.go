package inspect

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestKindsInTheDocs: the guide to stuck jobs and the guarantees name kinds that why gives.
func TestKindsInTheDocs(t *testing.T) {
	t.Parallel()
	for page, column := range map[string]int{"guides/stuck-job.md": 1, "explanation/guarantees.md": 3} {
		text, err := os.ReadFile("../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		known, found := Kinds(), 0
		for line := range strings.Lines(string(text)) {
			cells := strings.Split(line, "|")
			if len(cells) <= column+2 || cells[0] != "" {
				continue
			}
			for _, m := range regexp.MustCompile("`([a-z]+-[a-z]+|ended|delayed|lost|paused|queued|running|waiting)`").FindAllStringSubmatch(cells[column], -1) {
				if found++; !slices.Contains(known, Kind(m[1])) {
					t.Errorf("%s: why gives no kind %s", page, m[1])
				}
			}
		}
		if found < 15 {
			t.Errorf("%s names only %d kinds", page, found)
		}
	}
}
