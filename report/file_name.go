package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// NameID is what file.name calls the id of the record.
const NameID = "id"

// maxSaveAs is the maximum length of SaveAs in bytes, without the ending: file systems allow 255.
const maxSaveAs = 200

// NameFields returns what file.name uses of a record: names of parameters, and NameID if no parameter has that name.
func (f *File) NameFields() []string { return NewTemplate(f.Name).Names() }

// SaveAs returns the name under which a browser saves the file of a record, without an ending: Name, or
// <report>-<id>. values are those of Report.Decode.
func (f *File) SaveAs(report, id string, values map[string]any) string {
	texts := map[string]string{NameID: id}
	for name, value := range values {
		texts[name] = textOf(value)
	}
	name := []byte(strings.Map(inName, NewTemplate(f.Name).Fill(texts, nil)))
	name = name[:min(len(name), maxSaveAs)]
	// A leading dot would hide the file, and the cut may have left a part of a character.
	saved := strings.TrimLeft(strings.ToValidUTF8(string(name), ""), ". ")
	return cmp.Or(saved, report+"-"+id)
}

// inName returns a character that every file system takes, and that a person sees.
func inName(c rune) rune {
	if unicode.In(c, unicode.C, unicode.Zl, unicode.Zp) || strings.ContainsRune(`/\:*?"<>|`, c) {
		return '-'
	}
	return c
}

// textOf returns a bound value as a person reads it; NULL is empty.
func textOf(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case time.Time:
		return v.Format("2006-01-02 15:04:05Z07:00")
	}
	return fmt.Sprint(value)
}
