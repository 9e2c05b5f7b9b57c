package command

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/config"
	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

// fenced returns the code blocks of a language in a page, without the indentation of blocks in
// lists.
func fenced(t *testing.T, page, language string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", page))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, m := range regexp.MustCompile("(?ms)^( *)```"+language+"\n(.*?)^ *```").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, regexp.MustCompile("(?m)^"+m[1]).ReplaceAllLiteralString(m[2], ""))
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no %s block", page, language)
	}
	return blocks
}

// TestRecipes runs every redis-cli line of docs/reference/keys.md against a running job. The page's user
// support runs those that read keys of Fanfold, and may run no other.
func TestRecipes(t *testing.T) {
	t.Parallel()
	s := newStackAlone(t, nil, `
  recipe:
    listeners:
      plt_user.vs_user_tag_relation: {database: db, query: "SELECT seq AS user_id FROM seq_1_to_3"}
      plt_fund.vs_withdraw: {database: db, query: "SELECT 1 AS user_id, SLEEP(20) AS amount"}
    join: {key: user_id}
`, "limits: {shutdown_timeout: 1s}")
	s.Records.Exec("INSERT INTO file_download_record (id, report) VALUES (1111, 'recipe')")
	s.Serve(s.File)
	s.Jobs.Push("1111")
	s.Eventually("one of two listeners is done, the other runs", func() bool {
		state, err := s.Partitions.First().Jobs.Read(t.Context(), "1111")
		return err == nil && state.Done == 1 && state.Tasks["plt_fund.vs_withdraw"].Owner != ""
	})
	user := regexp.MustCompile(`(?m)^ACL SETUSER support on >secret (.*)$`).FindStringSubmatch(read(t, "../../../docs/reference/keys.md"))
	s.redisCLI("redis-cli ACL SETUSER support on '>secret' " + strings.ReplaceAll(user[1], "*", "'*'"))
	reads, err := s.Redis.CommandList(t.Context(), &redis.FilterBy{ACLCat: "read"}).Result()
	if err != nil {
		t.Fatal(err)
	}
	lines, allowed, refused := 0, 0, 0
	blocks := fenced(t, "docs/reference/keys.md", "sh")
	// The recipes that only look come first: pushing changes what they see.
	for i := len(blocks) - 1; i >= 0; i-- {
		for line := range strings.Lines(blocks[i]) {
			lines++
			line, want, _ := strings.Cut(strings.TrimSpace(line), "# →")
			supported := strings.Replace(line, "redis-cli ", "redis-cli --user support --pass secret --no-auth-warning ", 1)
			words := strings.Fields(strings.ToLower(strings.Replace(line, "--raw ", "", 1)))[1:]
			isRead := slices.Contains(reads, words[0]) || slices.Contains(reads, words[0]+"|"+words[1])
			if isRead && !strings.Contains(line, "replies:") {
				allowed++
				line = supported
			} else {
				refused++
				if out, err := s.tryCLI(supported); !strings.Contains(out, "NOPERM") {
					t.Errorf("support may run %s: %v: %s", line, err, out)
				}
			}
			if out := s.redisCLI(line); !strings.Contains(out, strings.TrimSpace(want)) {
				t.Errorf("%s\ngives %q, without %q", line, out, want)
			}
		}
	}
	if lines < 20 || allowed < 20 || refused < 8 {
		t.Errorf("only %d recipes were found: support may run %d and may not run %d", lines, allowed, refused)
	}
}

// redisCLI runs a line of shell, with this stack's options after redis-cli. With -e, redis-cli
// fails if Redis returns an error.
func (s commands) redisCLI(line string) string {
	s.Helper()
	out, err := s.tryCLI(line)
	if err != nil {
		s.Errorf("%s: %v: %s", line, err, out)
	}
	return out
}

// tryCLI is redisCLI for a line that may fail.
func (s commands) tryCLI(line string) (string, error) {
	line = strings.ReplaceAll(line, "redis-cli ", "redis-cli -e "+s.CLI+" ")
	out, err := exec.CommandContext(s.Context(), "sh", "-euc", line).CombinedOutput()
	return string(out), err
}

// TestConfigurationsInTheDocs: every configuration in the documentation is valid.
func TestConfigurationsInTheDocs(t *testing.T) {
	t.Parallel()
	set := map[string]string{"USER_DB_PASSWORD": "p", "FUND_DB_PASSWORD": "p", "VENDOR_TOKEN": "p", "SCORES_TOKEN": strings.Repeat("t", 32), "S3_ACCESS_KEY": "k", "S3_SECRET_KEY": "p", "REDIS_PASSWORD": "p", "FANFOLD_HTTP_KEY": strings.Repeat("k", 32), "NOTIFY_SECRET": "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"}
	environment := decode.Environment{
		Lookup: func(name string) (string, bool) { v, ok := set[name]; return v, ok },
		ReadFile: func(name string) ([]byte, error) {
			switch {
			case strings.HasSuffix(name, ".pem"):
				return os.ReadFile("../../../config/testdata/ca.pem")
			case strings.HasSuffix(name, ".htpasswd"):
				return []byte("oncall:$2y$05$" + strings.Repeat("x", 53) + "\n"), nil
			case strings.HasSuffix(name, "service-tokens"):
				return []byte("shop:" + strings.Repeat("0", 64) + "\n"), nil
			}
			return []byte(strings.Repeat("p", 32) + "\n"), nil
		},
	}
	for _, page := range []string{"README.md", "docs/reference/configuration.md", "docs/guides/api-sources.md", "docs/guides/external-listeners.md", "docs/guides/waiting-page.md", "docs/guides/existing-table.md", "docs/guides/cluster.md", "docs/guides/celery-chord.md", "docs/guides/timers.md", "docs/guides/notifications.md", "docs/guides/s3.md", "docs/guides/spool.md", "docs/guides/protect-sources.md"} {
		for _, block := range fenced(t, page, "yaml") {
			if strings.HasPrefix(block, "redis:\n") { // these fields alone
				_, rest, _ := strings.Cut(fenced(t, "docs/reference/configuration.md", "yaml")[0], "\n")
				block += rest
			}
			if !strings.HasPrefix(block, "redis:") {
				// A part, such as another records section: it goes into the whole.
				whole := fenced(t, "docs/reference/configuration.md", "yaml")[0]
				switch {
				case strings.HasPrefix(block, "timers:"), strings.HasPrefix(block, "http:"):
					block = whole + block
				case strings.HasPrefix(block, "    schedule:"): // of the last report
					block = whole + block
				case strings.HasPrefix(block, "reports:"):
					above, _, _ := strings.Cut(whole, "reports:\n")
					block = above + block
				case strings.HasPrefix(strings.TrimSpace(block), "file:"): // which stands last
					above, _, _ := strings.Cut(whole, "    file:\n")
					block = above + block
				case strings.HasPrefix(block, "apis:"):
					whole, _, _ = strings.Cut(whole, "\nrecords:")
					block = whole + "\nrecords: {database: user}\nsink: file:///tmp\n" + block
				case strings.HasPrefix(block, "sink:"):
					block = regexp.MustCompile(`(?m)^sink: .*$`).ReplaceAllLiteralString(whole, strings.TrimSpace(block))
				default:
					block = regexp.MustCompile(`(?m)^records: .*$`).ReplaceAllLiteralString(whole, strings.TrimSpace(block))
				}
			}
			if _, err := config.Load(page, []byte(block), environment, kinds.Standard().Config()); err != nil {
				t.Errorf("%v\n%s", err, block)
			}
		}
	}
}

// TestArithmeticInTheDocs: the arithmetic in the documentation is that of its configuration.
func TestArithmeticInTheDocs(t *testing.T) {
	t.Parallel()
	const page, needed = "docs/reference/configuration.md", "(2m × 6 + 12m30s) + (5m × 4 + 3m30s) = 48m"
	short := strings.Replace(fenced(t, page, "yaml")[0], "timeout: 1h ", "timeout: 47m ", 1)
	config, err := config.Load(page, []byte(short), decode.Environment{
		Lookup: func(string) (string, bool) { return "p", true },
		ReadFile: func(name string) ([]byte, error) {
			if strings.HasSuffix(name, ".pem") {
				return os.ReadFile("../../../config/testdata/ca.pem")
			}
			return []byte("p\n"), nil
		},
	}, kinds.Standard().Config())
	if err != nil || !strings.Contains(config.Warnings.Error(), needed) {
		t.Fatalf("%v, %v, not with %s", config, err, needed)
	}
	text, err := os.ReadFile(filepath.Join("../../..", page))
	if err != nil {
		t.Fatal(err)
	}
	for _, term := range regexp.MustCompile(`\(.*?\)|\d+m$`).FindAllString(needed, -1) {
		if !strings.Contains(string(text), term) {
			t.Errorf("%s does not say %s", page, term)
		}
	}
}

// TestDeadlinesInTheDocs: the default deadlines that pages name are those of reports with one and with two stages.
func TestDeadlinesInTheDocs(t *testing.T) {
	t.Parallel()
	const above = "redis: redis://127.0.0.1\ndatabases: {db: {dsn: \"u@tcp(h)/d\"}}\nrecords: {database: db}\nsink: file:///tmp\nreports:\n"
	c, err := config.Load("deadlines", []byte(above+`
  one:
    listeners: {a: {database: db, query: SELECT 1 AS x}}
  two:
    listeners: {a: {database: db, query: SELECT 1 AS x}, b: {after: a, database: db, query: SELECT 1 AS x}}
    join: {key: x}
`), decode.Environment{}, kinds.Standard().Config())
	if err != nil {
		t.Fatal(err)
	}
	minutes := map[string]int{}
	for _, r := range c.Reports {
		minutes[r.Name] = int(r.Timeout.Minutes())
	}
	want := fmt.Sprintf("%d minutes with one stage and %d minutes with two", minutes["one"], minutes["two"])
	for _, page := range []string{"README.md", "docs/reference/configuration.md"} {
		if text := strings.Join(strings.Fields(read(t, filepath.Join("../../..", page))), " "); !strings.Contains(text, want) {
			t.Errorf("%s does not say %q", page, want)
		}
	}
}

// TestDemo runs the demo as a new user does.
func TestDemo(t *testing.T) {
	t.Parallel()
	for _, demo := range []struct {
		name, report, header, row string
		args                      []string
	}{
		{"plain", demoReport, "User,Name,Tag,Withdrawn,Status,At,Paid in all", `(?m)^\d+,.+,vip,\d+\.\d\d,`, []string{"--keep"}},
		{"full", demoFullReport, "User,Name,Tag,Withdrawn,Paid in all,Team,Score", `(?m)^\d+,.+,vip,.*,(north|south|east|west),0\.\d\d\r$`, []string{"--full"}},
	} {
		t.Run(demo.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := command(append([]string{"demo", "--dir", dir}, demo.args...)...)
			var out testmain.Log
			c.Stdout, c.Stderr = &out, &out
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Process.Kill() })
			if slices.Contains(demo.args, "--keep") {
				look(t, &out)
				_ = c.Process.Signal(syscall.SIGTERM)
			}
			if err := c.Wait(); err != nil {
				t.Fatalf("%v: %s", err, out.Lines(""))
			}
			files, err := filepath.Glob(filepath.Join(dir, "files", demo.report, "1-1-??????.csv"))
			if err != nil || len(files) != 1 {
				t.Fatalf("in the sink: %v %v", files, err)
			}
			file := files[0]
			for _, want := range []string{"XADD fanfold:jobs '*' id 1", "Record 1 is SUCCESS", demo.header, file} {
				if len(out.Lines(want)) == 0 {
					t.Errorf("the demo does not say %q:\n%s", want, out.Lines(""))
				}
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if rows := len(regexp.MustCompile(demo.row).FindAll(text, -1)); rows < 1000 || rows != strings.Count(string(text), "\n")-1 {
				t.Errorf("%d rows are as they should be", rows)
			}
		})
	}
}

// look opens the addresses that the demo prints with --keep.
func look(t *testing.T, out *testmain.Log) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if !out.Wait(ctx, "Try in another terminal") {
		t.Fatalf("it does not say what to try: %s", out.Lines(""))
	}
	found := regexp.MustCompile(`(?m)^  (http://\S+) +# the (?:waiting page|dashboard)`).FindAllStringSubmatch(strings.Join(out.Lines(""), "\n"), -1)
	if len(found) != 2 {
		t.Fatalf("addresses: %v in %s", found, out.Lines(""))
	}
	for i, want := range []string{"every listener has workers", "Download"} {
		answer, err := http.Get(found[i][1])
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(text), want) {
			t.Errorf("%s: %s %v: no %q in %s", found[i][1], answer.Status, err, want, text)
		}
	}
}
