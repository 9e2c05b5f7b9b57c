package decode

import (
	"errors"
	"io/fs"
	"regexp"
	"strings"

	"github.com/fanfold/fanfold/report"
)

// Content is a secret whose field names the file that holds it.
type Content report.Secret

// plainPath is what no secret looks like: /run/secrets/db or keys/vendor.key.
var plainPath = regexp.MustCompile(`^(/([a-z0-9._-]+/)+[A-Za-z0-9._-]+|([a-z0-9._-]+/)+[A-Za-z0-9._-]+\.[a-z]{2,5})$`)

// fileName hides the name of a file that may be the secret itself.
func (p Setting) fileName() Setting {
	p.secret = p.isScalar() && !plainPath.MatchString(p.Node.Value)
	return p
}

// content reads the file that a field names, without the line end at its end. The
// system's message is not shown.
func (p Setting) content() (string, bool) {
	name, ok := p.Text()
	if !ok {
		return "", false
	}
	data, err := p.r.env.ReadFile(name)
	text := strings.TrimRight(string(data), "\r\n")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.Problem("the file does not exist", "Name a file that holds nothing but the value; a relative name is relative to the folder of this one")
	case errors.Is(err, fs.ErrPermission):
		p.Problem("no permission to read the file", "Check its owner and mode")
	case err != nil:
		p.Problem("the file cannot be read", "Name a file that holds nothing but the value")
	case text == "":
		p.Problem("the file is empty", "")
	default:
		return text, true
	}
	return "", false
}
