package command

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/redis/go-redis/v9"
)

// resize sets the size of a pseudo-terminal.
func resize(t *testing.T, other *os.File, width, height uint16) {
	t.Helper()
	size := [4]uint16{height, width}
	if _, _, failed := syscall.Syscall(syscall.SYS_IOCTL, other.Fd(), syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&size))); failed != 0 {
		t.Fatal(failed)
	}
}

// TestTop: on a terminal, top shows what a job waits for, reaches each of 1,000 jobs, and follows the terminal.
func TestTop(t *testing.T) {
	t.Parallel()
	s := newStack(t, `
  never:
    timeout: 10h
    retry: {retries: 1, delay: 1h}
    parameters: {tag: string}
    listeners: {bad: {database: db, query: "SELECT busy() AS k FROM DUAL WHERE :tag = 'vip'"}}
`)
	s.Records.Exec("CREATE FUNCTION busy() RETURNS INT BEGIN SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213; RETURN 1; END")
	stop := s.Serve(s.File)
	id := s.Records.Insert("never", `{"tag": "vip"}`)
	s.Jobs.Push(id)
	s.Eventually("it is retried", func() bool {
		out, _ := s.fanfold("top")
		return strings.Contains(out, "RETRY")
	})
	stop() // so that nobody recovers the others, which have no state
	for i := range 999 {
		s.Redis.ZAdd(t.Context(), s.Partitions.First().Keys.Deadlines,
			redis.Z{Score: float64(time.Now().Add(20 * time.Hour).UnixMilli()), Member: fmt.Sprint(1_000_000 + i)})
	}
	terminal, other := pseudoTerminal(t)
	resize(t, other, 60, 20)
	c := exec.CommandContext(t.Context(), os.Args[0], "-c", s.File, "top")
	c.Env = append(os.Environ(), asFanfold+"=1", "TERM=xterm")
	c.Stdin, c.Stdout, c.Stderr = terminal, terminal, terminal
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	out := &written{}
	go func() { _, _ = io.Copy(out, other) }()
	width := 60
	shows := func(want string) {
		t.Helper()
		var frame string
		s.Eventually("top shows "+want, func() bool {
			frames := strings.Split(out.String(), "\x1b[H")
			frame = frames[max(0, len(frames)-2)] // the last one may not be complete
			return strings.Contains(frame, want)
		})
		for line := range strings.SplitSeq(frame, "\x1b[K\r\n") {
			if n := utf8.RuneCountInString(line); n > width && !strings.Contains(line, "\x1b") {
				t.Errorf("%d columns in %d: %s", n, width, line)
			}
		}
	}
	press := func(keys string) {
		t.Helper()
		if _, err := other.WriteString(keys); err != nil {
			t.Fatal(err)
		}
	}
	shows("1,000, by deadline")
	shows(" RETRY ")
	press("r")
	shows("by deadline, reversed")
	press("rs")
	shows("by id; ?")
	press("/tag=vip\r")
	shows("1 to 1 of 1, by id, filter tag=vip")
	press("/retry-waiting\r")
	shows("1 to 1 of 1, by id, filter retry-waiting")
	press("/\r")
	shows("1,000, by id")
	press(strings.Repeat("\x1b[6~", 200))
	shows("to 1,000 of 1,000")
	width = 100
	resize(t, other, 100, 30)
	shows("AGE")
	press("q")
	if err := c.Wait(); err != nil {
		t.Error(err)
	}
}
