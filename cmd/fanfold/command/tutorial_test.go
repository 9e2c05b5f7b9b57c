package command

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/fanfold/fanfold/cmd/fanfold/e2e"
	"github.com/fanfold/fanfold/internal/testenv"
)

// TestTutorial follows every step of docs/tutorial.md in an empty folder and on its own servers. It
// changes only the addresses, and runs in the background what the reader runs in another terminal.
func TestTutorial(t *testing.T) {
	t.Parallel()
	s := withCommands(&e2e.Stack{TB: t})
	text := read(t, filepath.Join("..", "..", "..", "docs", "tutorial.md"))
	mariadb, err := testenv.StartDatabase(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(mariadb.Stop)
	db, err := mariadb.Open("mysql")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })

	dir := t.TempDir()
	_, redis, _ := net.SplitHostPort(e2e.Address(t))
	for name, content := range map[string]string{
		"redis.conf": read(t, "../../../redis.conf"),
		"fanfold":    "#!/bin/sh\nexec env " + asFanfold + "=1 '" + os.Args[0] + "' \"$@\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	addresses := strings.NewReplacer("127.0.0.1:3306", mariadb.Addr, "127.0.0.1:6379", "127.0.0.1:"+redis, "--port 6379", "--port "+redis,
		"redis-cli ", "redis-cli -p "+redis+" ", "127.0.0.1:8080", e2e.Address(t))
	var environment string
	shell := func(block string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), "bash", "-euc", environment+addresses.Replace(block))
		c.Dir = dir
		return c
	}
	var serving *exec.Cmd
	stop := func() {
		if serving != nil {
			_ = serving.Process.Signal(syscall.SIGINT)
			_ = serving.Wait()
		}
	}
	beside := func(block string) *exec.Cmd {
		begin, last := block[:strings.LastIndex(strings.TrimSpace(block), "\n")+1], block[strings.LastIndex(strings.TrimSpace(block), "\n")+1:]
		c := shell(begin + "exec " + last)
		log := &bytes.Buffer{}
		c.Stdout, c.Stderr = log, log
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(log.String())
			}
		})
		return c
	}
	t.Cleanup(func() { stop() })

	var output, shown string // of the last command; all of them
	for _, block := range regexp.MustCompile("(?s)```(sh|sql|yaml|)\n(.*?)```").FindAllStringSubmatch(text, -1) {
		language, block := block[1], block[2]
		switch {
		case language == "sql":
			for statement := range strings.SplitSeq(block, ";\n") {
				if statement = strings.TrimSpace(statement); statement == "" {
					continue
				}
				if _, err := db.ExecContext(t.Context(), statement); err != nil {
					t.Fatalf("%s: %v", statement, err)
				}
			}
		case language == "yaml":
			file := filepath.Join(dir, "fanfold.yaml")
			before, _, _ := strings.Cut(read(t, file), "\nreports:")
			if err := os.WriteFile(file, []byte(before+"\n"+block), 0o600); err != nil {
				t.Fatal(err)
			}
		case language == "":
			if strings.Contains(block, "…") {
				for part := range strings.SplitSeq(block, "…") {
					if !strings.Contains(output, strings.TrimSpace(part)) {
						t.Errorf("the page shows %q, and the program says %q", part, output)
					}
				}
			} else if !strings.Contains(strings.ReplaceAll(shown, "\r\n", "\n"), strings.TrimSpace(block)) {
				t.Errorf("the page shows %q, and the program says %q", block, shown)
			}
		case strings.HasPrefix(block, "make build"):
		case strings.HasPrefix(block, "export "):
			environment = block
		case strings.Contains(block, "redis-server"):
			server := beside(block)
			t.Cleanup(func() {
				_ = server.Process.Signal(syscall.SIGTERM)
				_ = server.Wait()
			})
			s.Eventually("Redis answers", func() bool {
				connection, err := net.Dial("tcp", "127.0.0.1:"+redis)
				if err == nil {
					_ = connection.Close()
				}
				return err == nil
			})
		case strings.HasPrefix(block, "./fanfold serve"):
			stop()
			serving = beside(block)
		default:
			s.Eventually(block, func() bool {
				out, err := shell(block).CombinedOutput()
				if output = string(out); err != nil {
					t.Fatalf("%s: %v: %s", block, err, out)
				}
				// A job needs a moment until it waits.
				return !strings.HasPrefix(block, "./fanfold why") || strings.HasPrefix(output, "It waits for payments: the listener has been paused")
			})
			if strings.Contains(block, "./fanfold doctor") && (strings.Count(output, "WARN") != 1 || strings.Contains(output, "FAIL")) {
				t.Errorf("the page says that one WARN is fine, and doctor says:\n%s", output)
			}
			shown += output
		}
	}
	if !strings.Contains(output, "Ann") {
		t.Errorf("the last file is %q", output)
	}
}
