package fold_test

import (
	"testing"

	"github.com/fanfold/fanfold/internal/testenv/testmain"
)

func TestMain(m *testing.M) { testmain.Main(m) }
