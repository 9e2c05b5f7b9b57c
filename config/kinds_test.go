package config_test

import (
	"github.com/fanfold/fanfold/cmd/fanfold/kinds"
	"github.com/fanfold/fanfold/config"
)

func init() { config.TestKinds = kinds.Standard().Config() }
