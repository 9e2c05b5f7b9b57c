package command

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
)

// manual returns the command line with its texts in Markdown; indented lines become code blocks.
func manual() *cobra.Command {
	root := newRoot(kinds.Standard())
	root.PersistentFlags().Lookup("config").DefValue = "fanfold.yaml" // whatever $FANFOLD_CONFIG is here
	root.DisableAutoGenTag = true
	root.InitDefaultCompletionCmd()
	visit(root, func(c *cobra.Command) { c.Long = markdown(c.Long) })
	return root
}

// visit calls a function with a command and all its subcommands.
func visit(c *cobra.Command, do func(*cobra.Command)) {
	do(c)
	for _, below := range c.Commands() {
		visit(below, do)
	}
}

var helpFlag = regexp.MustCompile(`(?m)^ +-h, --help .*\n`)

var special = regexp.MustCompile("[*<`]")

func markdown(text string) string {
	var b strings.Builder
	before := false
	for line := range strings.Lines(text) {
		code := strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t") || before && strings.TrimSpace(line) == ""
		if code != before {
			b.WriteByte('\n')
		}
		if before = code; code {
			b.WriteString("    " + strings.TrimPrefix(line, "  "))
		} else {
			b.WriteString(special.ReplaceAllString(line, `\$0`))
		}
	}
	return b.String()
}

// reference returns docs/reference/commands.md: all commands on one page, with the shared flags
// listed once.
func reference(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# Commands\n\nThis page is generated from the commands. `fanfold COMMAND --help` shows the same text, and the packages\ninstall man pages: `man fanfold-run`.\n\n")
	visit(manual(), func(c *cobra.Command) {
		if c.Name() == "help" || !c.IsAvailableCommand() && c.HasParent() || strings.HasPrefix(c.CommandPath(), "fanfold completion ") {
			return
		}
		var page bytes.Buffer
		if err := doc.GenMarkdownCustom(c, &page, func(link string) string {
			return "#" + strings.ReplaceAll(strings.TrimSuffix(link, ".md"), "_", "-")
		}); err != nil {
			t.Fatal(err)
		}
		text := page.String()
		text = strings.Replace(text, "### Synopsis\n\n", "", 1)
		text = regexp.MustCompile(`(?s)### Options inherited from parent commands\n.*?\n\n`).ReplaceAllString(text, "")
		if c.HasParent() {
			text, _, _ = strings.Cut(text, "### SEE ALSO")
			text = helpFlag.ReplaceAllString(text, "")
			text = strings.ReplaceAll(text, "### Options\n\n```\n```\n\n", "")
		} else {
			text = strings.Replace(text, "### SEE ALSO", "### Its commands", 1)
		}
		b.WriteString(strings.ReplaceAll(text, "### Options\n\n", ""))
	})
	return strings.TrimSpace(regexp.MustCompile(`\n{3,}`).ReplaceAllString(strings.ReplaceAll(b.String(), "\t - ", " – "), "\n\n")) + "\n"
}

// TestReference: docs/reference/commands.md has the texts of the commands. With -update, the test
// writes it.
func TestReference(t *testing.T) {
	t.Parallel()
	const page = "../../../docs/reference/commands.md"
	want := reference(t)
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if read(t, page) != want {
		t.Errorf("%s is not what the commands say: go test ./cmd/fanfold/command -run TestReference -update writes it", page)
	}
}

// TestManPages writes a manual page for every command into $FANFOLD_MAN if that is set, as make man
// does.
func TestManPages(t *testing.T) {
	t.Parallel()
	folder := cmp.Or(os.Getenv("FANFOLD_MAN"), t.TempDir())
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	root := manual()
	if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "Fanfold", Manual: "Fanfold"}, folder); err != nil {
		t.Fatal(err)
	}
	visit(root, func(c *cobra.Command) {
		if c.Name() == "help" {
			return
		}
		text := read(t, filepath.Join(folder, strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"))
		for _, want := range []string{".TH ", ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %s", c.CommandPath(), want)
			}
		}
	})
}
