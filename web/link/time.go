package link

import (
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/fanfold/fanfold/web/languages"
)

// Time returns an element with a time in UTC, which the script of the page replaces by the local time.
func Time(in *languages.Language, t time.Time) template.HTML {
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, t.UTC().Format("2006-01-02T15:04Z07:00"),
		template.HTMLEscapeString(in.Time(t))))
}

// SayTime returns the text of a key with the element of a time.
func SayTime(in *languages.Language, key string, t time.Time) template.HTML {
	text := template.HTMLEscapeString(in.Say(key))
	return template.HTML(strings.ReplaceAll(text, "{time}", string(Time(in, t))))
}
