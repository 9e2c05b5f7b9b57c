package main

import (
	"io"
	"os"
	"testing"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

// asFanfold makes the test binary be fanfold itself, for tests with processes.
const asFanfold = "FANFOLD_TEST_AS_COMMAND"

// untilEOF ends such a process with the test, however that ends: its stdin is a
// pipe of the test's.
const untilEOF = "FANFOLD_TEST_UNTIL_EOF"

func TestMain(m *testing.M) {
	if os.Getenv(asFanfold) != "" {
		if os.Getenv(untilEOF) != "" {
			go func() {
				_, _ = io.Copy(io.Discard, os.Stdin)
				os.Exit(1)
			}()
		}
		main()
		return
	}
	testmain.Main(m)
}
