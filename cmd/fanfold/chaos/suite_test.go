package chaos

import (
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/fanfold/fanfold/cmd/fanfold/command"
	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

// Variables of a process that this test binary starts.
const (
	asFanfold = "FANFOLD_TEST_AS_COMMAND" // it runs as fanfold
	untilEOF  = "FANFOLD_TEST_UNTIL_EOF"  // it ends when its stdin, a pipe of the test, closes
)

func TestMain(m *testing.M) {
	if os.Getenv(asFanfold) == "" {
		testmain.Main(m)
		return
	}
	if os.Getenv(untilEOF) != "" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(1)
		}()
	}
	readySpool()
	command.Main()
}

// unreachable is the exit code of a process that cannot reach its servers.
const unreachable = 5

// fanfold returns a command that runs this test binary as fanfold.
func fanfold(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Env = append(os.Environ(), asFanfold+"=1")
	c.WaitDelay = 10 * time.Second
	return c
}
