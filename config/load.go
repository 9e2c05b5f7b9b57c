package config

import (
	_ "embed"

	"github.com/fanfold/fanfold/config/decode"
)

// Load reads and proves a configuration file. name is used in messages only. The error
// is decode.Problems, all that were found; none of them holds a secret.
// docs/configuration.md describes the fields.
func Load(name string, data []byte, env decode.Environment) (*Config, error) {
	return load(decode.NewReader(name, env, language), data)
}

func load(r *decode.Reader, data []byte) (*Config, error) {
	var f file
	var c *Config
	if r.Decode(data, &f) {
		c = check(r, &f)
	}
	if problems := r.Problems(); len(problems) > 0 {
		return nil, problems
	}
	c.Warnings = r.Warnings()
	return c, nil
}

// DefaultLimits are the limits of a configuration that sets none.
func DefaultLimits() Limits {
	var l Limits
	decode.Defaults(language, &l)
	return l
}

// DefaultRecords are the records of a configuration that says nothing of them: Fanfold's
// own table.
func DefaultRecords() Records {
	var r Records
	decode.Defaults(language, &r)
	return r
}

// Schema is the JSON schema of the file, for editors. It knows the fields, and nothing
// of what they mean together.
//
//go:embed schema.json
var Schema []byte
