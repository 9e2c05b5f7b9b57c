package main

import (
	"os"
	"testing"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

// asFanfold makes the test binary be fanfold itself, for tests with processes.
const asFanfold = "FANFOLD_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asFanfold) != "" {
		main()
		return
	}
	testmain.Main(m)
}
