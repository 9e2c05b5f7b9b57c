package record

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fanfold/fanfold/engine"
)

// Succeed implements engine.Records. It is true as well where the record is
// SUCCESS already, of the same attempt and with the same file, and
// engine.ErrRefused where the file column is too short.
func (s *Store) Succeed(ctx context.Context, run engine.Run, file string, rows int64) (bool, error) {
	l, err := s.known(ctx)
	if err != nil {
		return false, err
	}
	if n := utf8.RuneCountInString(file); l.file > 0 && n > l.file {
		// A database that is not strict would cut it, and the record point to nothing.
		s.mu.Lock()
		s.layout = nil // somebody may widen the column
		s.mu.Unlock()
		return false, fmt.Errorf("%w: record %s: column %s takes %d characters, the file's place has %d: %s",
			engine.ErrRefused, run.ID, s.columns["file"], l.file, n, file)
	}
	id, ok := l.exact(run.ID)
	if !ok {
		return false, nil
	}
	if done, err := s.together(ctx, &success{layout: l, run: run, id: id, file: file, rows: rows, done: make(chan struct{})}); err != nil || done {
		return done, err
	}
	set := s.columns["file"] + " = ?, " + s.noError()
	args := []any{file}
	if column, ok := s.columns["rows"]; ok {
		set += column + " = ?, "
		args = append(args, rows)
	}
	done, err := s.finish(ctx, l, run, engine.Success, set, args, engine.Processing)
	if err != nil || done {
		return done, err
	}
	return s.is(ctx, run, func(r engine.Record) bool { return r.Status == engine.Success && r.File == file })
}

// Fail implements engine.Records. The reason is cut to what the column takes, at
// most 4000 bytes. It is true as well where the record is FAILED already, of the
// same attempt.
func (s *Store) Fail(ctx context.Context, run engine.Run, reason string) (bool, error) {
	l, err := s.known(ctx)
	if err != nil {
		return false, err
	}
	fail := func(reason string) (bool, error) {
		column, ok := s.columns["error"]
		if !ok {
			return s.finish(ctx, l, run, engine.Failed, "", nil, engine.Pending, engine.Processing)
		}
		return s.finish(ctx, l, run, engine.Failed, column+" = ?, ", []any{reason}, engine.Pending, engine.Processing)
	}
	reason = cut(reason, l.reason)
	done, err := fail(reason)
	if serverError(err, errCharacter) {
		// A status that cannot be written for the sake of its text would be tried
		// for ever.
		done, err = fail(plain(reason))
	}
	if err != nil || done {
		return done, err
	}
	return s.is(ctx, run, func(r engine.Record) bool { return r.Status == engine.Failed })
}

// errCharacter: the column's character set has not all of the text.
const errCharacter = 1366

// finish gives the record of a run its final status, if it has one of these.
// set is empty or ends with a comma.
func (s *Store) finish(ctx context.Context, l *layout, run engine.Run, to engine.Status, set string, args []any, from ...engine.Status) (bool, error) {
	id, ok := l.exact(run.ID)
	if !ok {
		return false, nil
	}
	query := "UPDATE " + s.table + " SET " + set + s.columns["status"] + " = ?, " + s.columns["updated"] + " = NOW(6) WHERE " +
		s.columns["id"] + " = ? AND COALESCE(" + s.columns["attempt"] + ", 0) = ? AND " + s.columns["status"] + " IN (" + marks(len(from)) + ")" + s.filter
	args = append(args, l.statuses[to], id, run.Attempt)
	for _, status := range from {
		args = append(args, l.statuses[status])
	}
	n, err := contended(ctx, func() (int64, error) { return changed(s.db.ExecContext(ctx, query, args...)) })
	if err != nil {
		return false, fmt.Errorf("record %s: change to %s: %w", run.ID, to, err)
	}
	return n > 0, nil
}

// is looks at the record of a run.
func (s *Store) is(ctx context.Context, run engine.Run, same func(engine.Record) bool) (bool, error) {
	r, err := s.one(ctx, run.ID)
	if errors.Is(err, engine.ErrNoRecord) {
		return false, nil
	}
	return err == nil && r.Attempt == run.Attempt && same(r), err
}

// noError is the part of a SET that clears the error column, or nothing.
func (s *Store) noError() string {
	if column, ok := s.columns["error"]; ok {
		return column + " = NULL, "
	}
	return ""
}

// cut makes a text valid UTF-8 of at most that size.
func cut(text string, most size) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	bytes, characters := most.bytes, most.characters
	for i := range text {
		if characters--; characters < 0 {
			text = text[:i]
			break
		}
	}
	if len(text) <= bytes {
		return text
	}
	for bytes > 0 && !utf8.RuneStart(text[bytes]) {
		bytes--
	}
	return text[:bytes]
}

// plain replaces what is not ASCII.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= utf8.RuneSelf {
			return '?'
		}
		return r
	}, text)
}
