package decode

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/report"
)

// Content is a secret whose field names the file that holds it.
type Content report.Secret

// maxFile is the maximum size of a file that a field names, in bytes.
const maxFile = 1 << 20

// Errors of ReadFile.
var (
	errNotRegular = errors.New("decode: not a regular file")
	errTooLarge   = errors.New("decode: too large")
)

// Folder returns the files of an Environment. Relative names are relative to a folder.
func Folder(folder string) Environment {
	in := func(name string) string {
		if filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(folder, name)
	}
	return Environment{
		ReadFile: func(name string) ([]byte, error) { return ReadFile(in(name)) },
		Glob:     func(pattern string) ([]string, error) { return glob(folder, pattern) },
	}
}

// special are the characters of a pattern that have a meaning.
var special = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// glob finds the files that match a pattern. As in a shell, * and ? do not match a dot at the beginning: files of
// editors begin with one.
func glob(folder, pattern string) ([]string, error) {
	relative := !filepath.IsAbs(pattern)
	if relative {
		pattern = filepath.Join(special.Replace(folder), pattern)
	}
	found, err := filepath.Glob(pattern)
	var names []string
	for _, name := range found {
		if strings.HasPrefix(filepath.Base(name), ".") && !strings.HasPrefix(filepath.Base(pattern), ".") {
			continue
		}
		if relative {
			if name, err = filepath.Rel(folder, name); err != nil {
				return nil, err
			}
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names, err
}

// ReadFile is a ReadFile of Environment. It reads regular files up to 1 MB: a device or a pipe may
// never end.
func ReadFile(name string) ([]byte, error) {
	info, err := os.Stat(name) // to open a pipe would wait for its writer
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if len(data) > maxFile {
		return nil, errTooLarge
	}
	return data, err
}

// plainPath matches paths that cannot be secrets: /run/secrets/db or keys/vendor.key.
var plainPath = regexp.MustCompile(`^(/([a-z0-9._-]+/)+[A-Za-z0-9._-]+|([a-z0-9._-]+/)+[A-Za-z0-9._-]+\.[a-z]{2,5})$`)

// fileName is a setting that names a file.
type fileName struct{ Setting }

// hidden hides the name of a file with a secret if it may be the secret itself.
func (p fileName) hidden() fileName {
	p.secret = p.isScalar() && !plainPath.MatchString(p.Node.Value)
	return p
}

// content reads the file that a field names, without trailing line breaks.
func (p fileName) content() (string, bool) {
	name, ok := p.Text()
	if !ok {
		return "", false
	}
	data, ok := p.read(name, "Name a file that contains only the value")
	text := strings.TrimRight(string(data), "\r\n")
	if ok && text == "" {
		p.Problem("the file is empty", "")
	}
	return text, text != ""
}

// read reads a file, or records a problem. remedy says which file to name. Messages do not show the
// error of the system.
func (p fileName) read(name, remedy string) ([]byte, bool) {
	data, err := p.r.env.ReadFile(p.from.path(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.Problem("the file does not exist",
			remedy+"; a relative name is relative to the folder of this file")
	case errors.Is(err, fs.ErrPermission):
		p.Problem("no permission to read the file", "Check its owner and mode")
	case errors.Is(err, errNotRegular):
		p.Problem("not a regular file", remedy+", not a folder, a device or a pipe")
	case errors.Is(err, errTooLarge):
		p.Problem("the file has more than 1 MB", remedy)
	case err != nil:
		p.Problem("the file cannot be read", remedy)
	default:
		return data, true
	}
	return nil, false
}
