package command

import (
	"cmp"
	"io"
	"os"
	"testing"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

// asFanfold is the variable that makes the test binary run as fanfold, for tests with processes.
const asFanfold = "FANFOLD_TEST_AS_COMMAND"

// asVersion is the variable with the version that such a process says it has.
const asVersion = "FANFOLD_TEST_VERSION"

// untilEOF is the variable that ends such a process when its stdin, a pipe of the test, closes. So
// it ends with the test, however the test ends.
const untilEOF = "FANFOLD_TEST_UNTIL_EOF"

func TestMain(m *testing.M) {
	if os.Getenv(asFanfold) != "" {
		version = cmp.Or(os.Getenv(asVersion), version)
		if os.Getenv(untilEOF) != "" {
			go func() {
				_, _ = io.Copy(io.Discard, os.Stdin)
				os.Exit(1)
			}()
		}
		Main()
		return
	}
	testmain.Main(m)
}
