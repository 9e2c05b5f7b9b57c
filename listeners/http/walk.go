package http

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/report"
)

// walk reads a JSON document once from beginning to end. It passes rows to row one by one, and keeps
// the other values that it should find.
type walk struct {
	decoder *json.Decoder
	row     func(any) error
	there   bool // the rows were found
	odd     bool // they are no array
	found   []found
}

// found is a value to find.
type found struct {
	path  report.JSONPath
	value any
	there bool
}

// errDocument is the error of an answer that is not the expected JSON.
var errDocument = errors.New("not the expected JSON")

func newWalk(from io.Reader, row func(any) error, others ...report.JSONPath) *walk {
	w := &walk{decoder: json.NewDecoder(from), row: row}
	w.decoder.UseNumber()
	for _, p := range others {
		w.found = append(w.found, found{path: p})
	}
	return w
}

// run reads the document.
func (w *walk) run(rows report.JSONPath) error {
	ways := make([][]report.JSONStep, len(w.found))
	for i, f := range w.found {
		ways[i] = f.path.Steps()
	}
	if err := w.value(rows.Steps(), ways); err != nil {
		return cut(err)
	}
	if _, err := w.decoder.Token(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = fmt.Errorf("%w: text after the document", errDocument)
		}
		return cut(err)
	}
	return nil
}

// cut explains errors of syntax and truncated documents.
func cut(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: it is truncated", errDocument)
	case errors.As(err, &syntax):
		return fmt.Errorf("%w: %w (byte %d)", errDocument, err, syntax.Offset)
	}
	return err
}

// value reads the next value. rows and ways are the remaining steps to the values to find: nil if this
// value is not on the way, empty if it is the value to find.
func (w *walk) value(rows []report.JSONStep, ways [][]report.JSONStep) error {
	if rows != nil && len(rows) == 0 {
		return w.array()
	}
	on := rows != nil
	for i, way := range ways {
		if way != nil && len(way) == 0 {
			return w.keep(i)
		}
		on = on || way != nil
	}
	if !on {
		return w.skip(0)
	}
	token, err := w.decoder.Token()
	if err != nil {
		return err
	}
	switch token {
	case json.Delim('{'):
		for w.decoder.More() {
			name, err := w.decoder.Token()
			if err != nil {
				return err
			}
			text, _ := name.(string)
			is := func(s report.JSONStep) bool { return s.Index < 0 && s.Name == text }
			if err := w.value(next(rows, is), nexts(ways, is)); err != nil {
				return err
			}
		}
	case json.Delim('['):
		for i := 0; w.decoder.More(); i++ {
			is := func(s report.JSONStep) bool { return s.Index == i }
			if err := w.value(next(rows, is), nexts(ways, is)); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = w.decoder.Token()
	return err
}

func next(way []report.JSONStep, is func(report.JSONStep) bool) []report.JSONStep {
	if len(way) == 0 || !is(way[0]) {
		return nil
	}
	return way[1:]
}

func nexts(ways [][]report.JSONStep, is func(report.JSONStep) bool) [][]report.JSONStep {
	left := make([][]report.JSONStep, len(ways))
	for i, way := range ways {
		left[i] = next(way, is)
	}
	return left
}

// keep decodes a value to find.
func (w *walk) keep(i int) error {
	if w.found[i].there {
		return fmt.Errorf("%w: %s occurs twice", errDocument, w.found[i].path)
	}
	w.found[i].there = true
	var raw json.RawMessage
	if err := w.decoder.Decode(&raw); err != nil {
		return err
	}
	if len(raw) > maxValue {
		return tooLong(w.found[i].path.String())
	}
	value, err := decoded(raw)
	w.found[i].value = value
	return err
}

// maxDepth is how many levels encoding/json goes down in a value that it decodes.
const maxDepth = 10_000

// skip skips a value; depth is the number of its levels that were entered.
func (w *walk) skip(depth int) error {
	for {
		token, err := w.decoder.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		switch {
		case depth == 0:
			return nil
		case depth > maxDepth: // the decoder keeps every level in memory
			return fmt.Errorf("%w: more than %d levels", errDocument, maxDepth)
		}
	}
}

// array reads the rows. null means no rows.
func (w *walk) array() error {
	token, err := w.decoder.Token()
	switch {
	case err != nil:
		return err
	case w.there:
		return fmt.Errorf("%w: the rows occur twice", errDocument)
	case token == nil:
		w.there = true
		return nil
	case token != json.Delim('['):
		w.there, w.odd = true, true
		if token == json.Delim('{') {
			return w.skip(1)
		}
		return nil
	}
	w.there = true
	var raw json.RawMessage
	for number := 1; w.decoder.More(); number++ {
		if err := w.decoder.Decode(&raw); err != nil {
			return err
		}
		if len(raw) > maxValue {
			return tooLong(fmt.Sprintf("row %d of it", number))
		}
		row, err := decoded(raw)
		if err != nil {
			return err
		}
		if err := w.row(row); err != nil {
			return err
		}
	}
	_, err = w.decoder.Token()
	return err
}

// whole decodes a document of one value.
func whole(text []byte) (any, error) {
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("%w: not UTF-8", errDocument)
	}
	everything, _ := report.ParseJSONPath("$")
	w := newWalk(bytes.NewReader(text), nil, everything)
	if err := w.run(report.JSONPath{}); err != nil {
		return nil, err
	}
	return w.found[0].value, nil
}

// maxValue is how many bytes a row, or a value beside the rows, may have: decoded it
// can have 50 times as many.
const maxValue = 4 << 20

func tooLong(what string) error {
	return listeners.Permanent(fmt.Errorf("%w: %s has more than %d bytes", errDocument, what, maxValue))
}

// decoded decodes one value. Numbers keep their digits.
func decoded(raw []byte) (any, error) {
	if !utf8.Valid(raw) {
		return nil, fmt.Errorf("%w: not UTF-8", errDocument)
	}
	var value any
	w := newWalk(bytes.NewReader(raw), nil)
	if err := w.decoder.Decode(&value); err != nil {
		return nil, err
	}
	return value, nil
}
