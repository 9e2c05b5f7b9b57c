package sink

import (
	"errors"
	"fmt"
	"mime"
	"strings"
)

// ErrName is matched by the errors of CheckName.
var ErrName = errors.New("bad name")

// maxPart leaves space in a file system's 255 bytes for the additions of a temporary file's name.
const maxPart = 200

// Attachment returns the Content-Disposition of a file that browsers save under this name; empty: the name is.
func Attachment(saveAs string) string {
	if saveAs == "" {
		return ""
	}
	return mime.FormatMediaType("attachment", map[string]string{"filename": saveAs})
}

// CheckName tells whether an object may have that name: parts of 1 to 200
// letters, digits or any of . _ - = + @, with slashes between them. No part
// begins with a dot, so no name leaves its place or meets a temporary file, and
// nothing in it needs escaping in a URL. The error matches ErrName.
func CheckName(name string) error {
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "":
			return fmt.Errorf("%w %q: an empty part", ErrName, name)
		case part[0] == '.':
			return fmt.Errorf("%w %q: a part begins with a dot", ErrName, name)
		case len(part) > maxPart:
			return fmt.Errorf("%w %q: a part is longer than %d bytes", ErrName, name, maxPart)
		}
		for i := range len(part) {
			if !nameByte(part[i]) {
				return fmt.Errorf("%w %q: %q is not allowed", ErrName, name, part[i])
			}
		}
	}
	return nil
}

func nameByte(c byte) bool {
	switch {
	case c >= '0' && c <= '9', c|0x20 >= 'a' && c|0x20 <= 'z':
		return true
	}
	return strings.IndexByte("._-=+@", c) >= 0
}
