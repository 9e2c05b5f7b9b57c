package record

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
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
	one := &success{layout: l, run: run, file: file, rows: rows}
	if err := s.successes.Do(ctx, one); err != nil {
		return false, err
	}
	if one.done {
		return true, nil
	}
	return s.finish(ctx, l, run, file, change{from: running[1:], to: report.Success, set: map[string]any{"file": file, "rows": rows, "error": nil}})
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
	return s.finish(ctx, l, run, file, change{from: running[1:], to: report.Partial, set: map[string]any{"file": file, "rows": rows, "error": cut(reason, l.reason)}})
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
	set := map[string]any{"file": "", "rows": 0, "error": cut(reason, l.reason)}
	for _, column := range []string{"file", "rows"} {
		if l.nullable[column] {
			set[column] = nil
		}
	}
	from := running[1:]
	if run.Pending {
		from = running
	}
	return s.finish(ctx, l, run, "", change{from: from, to: to, set: set})
}

// takes proves that the table takes the name of a file. It returns the layout.
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

// errCharacter: the column's character set has not all of the text.
const errCharacter = 1366

// finish gives the record of a run its final status. It is true as well where the record
// has that status already, of the same attempt and with the same file, if one is given.
func (s *Store) finish(ctx context.Context, l *layout, run engine.Run, file string, c change) (bool, error) {
	id, ok := l.exact(run.ID)
	if !ok {
		return false, nil
	}
	c.ids, c.attempt = []any{id}, run.Attempt
	update := func() (int64, error) { return s.update(ctx, s.db, l, c) }
	n, err := contended(ctx, update)
	if reason, ok := c.set["error"].(string); ok && serverError(err, errCharacter) {
		// A status that cannot be written for the sake of its text would be tried
		// for ever.
		c.set["error"] = plain(reason)
		n, err = contended(ctx, update)
	}
	if err != nil {
		return false, fmt.Errorf("record %s: change to %s: %w", run.ID, c.to, err)
	}
	if n > 0 {
		return true, nil
	}
	r, err := s.one(ctx, run.ID)
	if errors.Is(err, engine.ErrNoRecord) {
		return false, nil
	}
	return err == nil && r.Attempt == run.Attempt && r.Status == c.to && (file == "" || r.File == file), err
}

const (
	// maxSuccesses bounds how many records share a statement that makes them SUCCESS.
	maxSuccesses = 100
	// statementTime bounds shared statements: no caller's context does. It is less than
	// the patience of a caller, who then has time for a statement of its own.
	statementTime = 3 * time.Second
)

// success is a record that is to become SUCCESS.
type success struct {
	layout *layout
	run    engine.Run
	file   string
	rows   int64
	done   bool // it became so; otherwise nothing is known
}

// succeedTogether makes records SUCCESS that come at the same time: those of one attempt
// share a statement, and so a commit. Where one is not done, a statement of its own
// knows more.
func (s *Store) succeedTogether(batches iter.Seq[[]*success]) {
	for batch := range batches {
		ctx, cancel := context.WithTimeout(context.Background(), statementTime)
		_ = s.succeedAll(ctx, batch)
		cancel()
	}
}

// succeedAll is one statement for every attempt in a batch.
func (s *Store) succeedAll(ctx context.Context, batch []*success) error {
	ones := map[engine.Run]*success{}
	runs := make([]engine.Run, 0, len(batch))
	alike := map[string]bool{}
	for _, one := range batch {
		// Of ids that a collation takes for the same, the count of rows would not be right,
		// and no success known.
		if id := strings.ToLower(one.run.ID); one.layout == batch[0].layout && !alike[id] {
			alike[id] = true
			ones[one.run] = one
			runs = append(runs, one.run)
		}
	}
	for attempt, same := range batch[0].layout.batches(runs) {
		c := change{ids: args(same), attempt: attempt, from: running[1:], to: report.Success}
		var files, rows each
		for _, n := range same {
			one := ones[runs[n.index]]
			files, rows = append(files, one.file), append(rows, one.rows)
		}
		c.set = map[string]any{"file": files, "rows": rows, "error": nil}
		n, err := s.update(ctx, s.db, batch[0].layout, c)
		if err != nil {
			return err
		}
		for _, one := range same {
			ones[runs[one.index]].done = n == int64(len(same))
		}
	}
	return nil
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
