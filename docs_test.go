package fanfold_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	fencedBlock  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading      = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	notInAnchor  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// pages are all Markdown files of the project, without their fenced blocks.
func pages(t *testing.T) map[string]string {
	pages := map[string]string{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == "out" || entry.Name() == ".git") {
			return filepath.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		pages[path] = fencedBlock.ReplaceAllString(string(text), "")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// anchors are those that a page has by its headings, as GitHub and the site make them.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(text, -1) {
		all[strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
	}
	return all
}

// TestLinks: every link from one file of the project to another has its file and its heading.
func TestLinks(t *testing.T) {
	pages, checked := pages(t), 0
	for page, text := range pages {
		for _, link := range markdownLink.FindAllStringSubmatch(text, -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			checked++
			path, anchor, _ := strings.Cut(link[1], "#")
			target := page
			if path != "" {
				target = filepath.Join(filepath.Dir(page), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: the link %s: %v", page, link[1], err)
			} else if anchor != "" && !anchors(pages[target])[anchor] {
				t.Errorf("%s: the link %s: %s has no such heading", page, link[1], target)
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d links were found", checked)
	}
}

var (
	generated  = regexp.MustCompile(`(?s)<!-- (?:fields|begin|metrics|spans)[^>]*-->.*?<!-- end`)
	testNames  = regexp.MustCompile("`Test\\w+`,?")
	tableRules = regexp.MustCompile(`\||-{3,}`)
)

// TestPagesAreShort: the README, the tutorial, the guides and the explanations have fewer than 31,000 words
// together. Generated tables and names of tests do not count, and neither does the reference. The guarantees are
// a reference, too: a reader looks a line up in them.
func TestPagesAreShort(t *testing.T) {
	const most = 31_000
	words := 0
	for page := range pages(t) {
		if page != "README.md" && !strings.HasPrefix(page, "docs/") ||
			strings.HasPrefix(page, "docs/reference/") || page == "docs/explanation/guarantees.md" {
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, not := range []*regexp.Regexp{generated, testNames, tableRules} {
			text = not.ReplaceAll(text, []byte(" "))
		}
		words += len(strings.Fields(string(text)))
	}
	if words == 0 || words >= most {
		t.Errorf("the pages have %d words: shorten them below %d", words, most)
	}
}
