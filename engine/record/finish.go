package record

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/report"
)

// Succeed implements engine.Records. It is true as well where the record is
// SUCCESS already, of the same attempt and with the same file, and
// engine.ErrRefused where the file column is too short.
func (s *Store) Succeed(ctx context.Context, run engine.Run, file string, rows int64) (bool, error) {
	l, err := s.takes(ctx, run, file)
	if err != nil {
		return false, err
	}
	id, ok := l.exact(run.ID)
	if !ok {
		return false, nil
	}
	if done, err := s.together(ctx, &success{layout: l, run: run, id: id, file: file, rows: rows, done: make(chan struct{})}); err != nil || done {
		return done, err
	}
	return s.succeed(ctx, l, run, report.Success, file, rows, s.noError(), nil)
}

// SucceedPartly implements engine.Records, as Succeed does. The reason is cut as that
// of Fail.
func (s *Store) SucceedPartly(ctx context.Context, run engine.Run, file string, rows int64, reason string) (bool, error) {
	l, err := s.takes(ctx, run, file)
	if err != nil {
		return false, err
	}
	if _, ok := l.statuses[report.Partial]; !ok {
		return false, fmt.Errorf("%w: record %s: no value for PARTIAL in column %s: map it under records.statuses", engine.ErrRefused, run.ID, s.columns["status"])
	}
	return s.withReason(l, reason, func(set string, args []any) (bool, error) {
		return s.succeed(ctx, l, run, report.Partial, file, rows, set, args)
	})
}

// takes proves that the table takes a file's place. It returns the layout.
func (s *Store) takes(ctx context.Context, run engine.Run, file string) (*layout, error) {
	l, err := s.known(ctx)
	if err != nil {
		return nil, err
	}
	if n := utf8.RuneCountInString(file); l.file > 0 && n > l.file {
		// A database that is not strict would cut it, and the record point to nothing.
		s.mu.Lock()
		s.layout = nil // somebody may widen the column
		s.mu.Unlock()
		return nil, fmt.Errorf("%w: record %s: column %s takes %d characters, the file's place has %d: %s",
			engine.ErrRefused, run.ID, s.columns["file"], l.file, n, file)
	}
	return l, nil
}

// succeed gives the record of a run its file. set is as for finish.
func (s *Store) succeed(ctx context.Context, l *layout, run engine.Run, to report.Status, file string, rows int64, set string, args []any) (bool, error) {
	set = s.columns["file"] + " = ?, " + set
	args = append([]any{file}, args...)
	if column, ok := s.columns["rows"]; ok {
		set += column + " = ?, "
		args = append(args, rows)
	}
	done, err := s.finish(ctx, l, run, to, set, args, report.Processing)
	if err != nil || done {
		return done, err
	}
	return s.is(ctx, run, func(r engine.Record) bool { return r.Status == to && r.File == file })
}

// withReason calls change with what sets the error column, where there is one.
func (s *Store) withReason(l *layout, reason string, change func(set string, args []any) (bool, error)) (bool, error) {
	column, ok := s.columns["error"]
	if !ok {
		return change("", nil)
	}
	reason = cut(reason, l.reason)
	done, err := change(column+" = ?, ", []any{reason})
	if serverError(err, errCharacter) {
		// A status that cannot be written for the sake of its text would be tried
		// for ever.
		done, err = change(column+" = ?, ", []any{plain(reason)})
	}
	return done, err
}

// Fail implements engine.Records. The reason is cut to what the column takes, at
// most 4000 bytes. The file and the rows of an earlier attempt go with the status: a
// record has a file where it is SUCCESS or PARTIAL, and nowhere else. It is true as well
// where the record is FAILED already, of the same attempt.
func (s *Store) Fail(ctx context.Context, run engine.Run, reason string) (bool, error) {
	return s.fail(ctx, run, report.Failed, reason)
}

// Cancel implements engine.Records, as Fail does.
func (s *Store) Cancel(ctx context.Context, run engine.Run, reason string) (bool, error) {
	return s.fail(ctx, run, report.Cancelled, reason)
}

func (s *Store) fail(ctx context.Context, run engine.Run, to report.Status, reason string) (bool, error) {
	l, err := s.known(ctx)
	if err != nil {
		return false, err
	}
	done, err := s.withReason(l, reason, func(set string, args []any) (bool, error) {
		return s.finish(ctx, l, run, to, s.noFile(l)+set, args, report.Pending, report.Processing)
	})
	if err != nil || done {
		return done, err
	}
	return s.is(ctx, run, func(r engine.Record) bool { return r.Status == to })
}

// errCharacter: the column's character set has not all of the text.
const errCharacter = 1366

// finish gives the record of a run its final status, if it has one of these.
// set is empty or ends with a comma.
func (s *Store) finish(ctx context.Context, l *layout, run engine.Run, to report.Status, set string, args []any, from ...report.Status) (bool, error) {
	id, ok := l.exact(run.ID)
	if !ok {
		return false, nil
	}
	query := "UPDATE " + s.table + " SET " + set + s.columns["status"] + " = ?, " + s.columns["updated"] + " = NOW(6) WHERE " +
		s.columns["id"] + " = ? AND COALESCE(" + s.columns["attempt"] + ", 0) = ? AND " + s.columns["status"] + " IN (" + marks(len(from)) + ")" + s.filter
	args = append(args, l.statuses[to], id, run.Attempt)
	for _, status := range from {
		args = append(args, l.statuses[status]) // NULL for one that the table does not take
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

// noFile is the part of a SET that takes file and rows from a record.
func (s *Store) noFile(l *layout) string {
	empty := func(column, nothing string) string {
		if l.nullable[column] {
			nothing = "NULL"
		}
		return s.columns[column] + " = " + nothing + ", "
	}
	set := empty("file", "''")
	if _, ok := s.columns["rows"]; ok {
		set += empty("rows", "0")
	}
	return set
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
