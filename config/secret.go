package config

import (
	"errors"
	"io/fs"
	"regexp"
	"strings"

	"github.com/fanfold/fanfold/report"
)

// content is a secret whose field names the file that holds it.
type content report.Secret

// plainPath is what no secret looks like: /run/secrets/db or keys/vendor.key.
var plainPath = regexp.MustCompile(`^(/([a-z0-9._-]+/)+[A-Za-z0-9._-]+|([a-z0-9._-]+/)+[A-Za-z0-9._-]+\.[a-z]{2,5})$`)

// fileName hides the name of a file that may be the secret itself.
func (p setting) fileName() setting {
	p.secret = p.isScalar() && !plainPath.MatchString(p.node.Value)
	return p
}

// content reads the file that a field names, without the line end at its end. The
// system's message is not shown.
func (p setting) content() (string, bool) {
	name, ok := p.text()
	if !ok {
		return "", false
	}
	data, err := p.env.ReadFile(name)
	text := strings.TrimRight(string(data), "\r\n")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.problem("the file does not exist", "Name a file that holds nothing but the value; a relative name is relative to the folder of this one")
	case errors.Is(err, fs.ErrPermission):
		p.problem("no permission to read the file", "Check its owner and mode")
	case err != nil:
		p.problem("the file cannot be read", "Name a file that holds nothing but the value")
	case text == "":
		p.problem("the file is empty", "")
	default:
		return text, true
	}
	return "", false
}
