// Package note is an action of timers that appends a line to a file: timers: {NAME: {key: …, note: {…}}}.
package note

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/fanfold/fanfold/config/kind"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scheduler/action"
)

// Kind is the action.
var Kind = action.Kind{
	Action: kind.Action{
		Name: "note", Doc: "Appends a line to a file", Form: "note: {file: …, text: …}",
		Fields: func() any { return new(Fields) },
		Check: func(t *kind.Timer) {
			t.CheckNames(t.Get("text"), t.Own.(*Fields).Text)
		},
	},
	Act: act,
}

// Fields are the own fields of the action.
type Fields struct {
	File string          `yaml:"file" need:"Name the file" doc:"Path of the file"`
	Text report.Template `yaml:"text" need:"Write the text, with {name} where a value goes" doc:"Text of the line"`
}

// act appends the id of the firing and the text. A line can come twice, with the same id.
func act(_ context.Context, _ action.Tools, f action.Firing) ([]string, error) {
	own := f.Own.(*Fields)
	file, err := os.OpenFile(own.File, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, action.Permanent(err) // the folder does not exist
	} else if err != nil {
		return nil, err
	}
	text := strings.ReplaceAll(own.Text.Fill(f.Values, nil), "\n", " ")
	_, err = fmt.Fprintf(file, "%s %s\n", f.ID(), text)
	return []string{"file", own.File}, errors.Join(err, file.Close())
}
