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

// Succeed implements engine.Records. It also returns true if the record is already SUCCESS with the
// same attempt and file. It returns engine.ErrRefused if the file column is too short.
func (s finisher) Succeed(ctx context.Context, run engine.Run, file string, rows int64) (bool, error) {
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
	return s.finish(ctx, l, run, file, change{from: running[1:], to: report.Success,
		set: map[string]any{"file": file, "rows": rows, "error": nil}})
}

// SucceedPartly implements engine.Records like Succeed. The reason is cut like that of Fail.
func (s finisher) SucceedPartly(ctx context.Context, run engine.Run, file string, rows int64,
	reason string) (bool, error) {
	l, err := s.takes(ctx, run, file)
	if err != nil {
		return false, err
	}
	if l.statuses[report.Partial] == nil {
		return false, fmt.Errorf("%w: record %s: no value for PARTIAL in column %s: map it under records.statuses",
			engine.ErrRefused, run.ID, s.columns["status"])
	}
	return s.finish(ctx, l, run, file, change{from: running[1:], to: report.Partial,
		set: map[string]any{"file": file, "rows": rows, "error": fit(reason, l.reason)}})
}

// Fail implements engine.Records. The reason is cut to the size of the column, at most 4000 bytes.
// File and rows of an earlier attempt are cleared: only SUCCESS and PARTIAL records have a file. It
// also returns true if the record is already FAILED with the same attempt.
func (s finisher) Fail(ctx context.Context, run engine.Run, reason string) (bool, error) {
	return s.fail(ctx, run, report.Failed, reason)
}

// Cancel implements engine.Records like Fail.
func (s finisher) Cancel(ctx context.Context, run engine.Run, reason string) (bool, error) {
	return s.fail(ctx, run, report.Cancelled, reason)
}

func (s finisher) fail(ctx context.Context, run engine.Run, to report.Status, reason string) (bool, error) {
	l, err := s.known(ctx)
	if err != nil {
		return false, err
	}
	set := map[string]any{"file": "", "rows": 0, "error": fit(reason, l.reason)}
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

// takes checks that the table can store the name of a file. It returns the layout.
func (s finisher) takes(ctx context.Context, run engine.Run, file string) (*layout, error) {
	l, err := s.known(ctx)
	if err != nil {
		return nil, err
	}
	if n := utf8.RuneCountInString(file); l.file > 0 && n > l.file {
		// A database that is not strict would cut it, and the record would point to nothing.
		s.mu.Lock()
		s.layout = nil // the column may be widened meanwhile
		s.mu.Unlock()
		return nil, fmt.Errorf("%w: record %s: column %s has %d characters, but the file's name needs %d: widen the "+
			"column: %s",
			engine.ErrRefused, run.ID, s.columns["file"], l.file, n, file)
	}
	return l, nil
}

// finish gives the record of a run its final status. It also returns true if the record already has
// that status, with the same attempt and, if given, the same file.
func (s finisher) finish(ctx context.Context, l *layout, run engine.Run, file string, c change) (bool, error) {
	id, ok := l.exact(run.ID)
	if !ok {
		return false, nil
	}
	c.of, c.attempt, c.retried = []named{{id: run.ID, arg: id}}, run.Attempt, Contended
	n, err := s.end(ctx, l, c, run)
	if reason, ok := c.set["error"].(string); ok && s.kind.Is(err, Unstorable) {
		// Without this, a status with such a text would be retried forever.
		c.set["error"] = plain(reason)
		n, err = s.end(ctx, l, c, run)
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
	// maxSuccesses is the maximum number of records that become SUCCESS in one statement.
	maxSuccesses = 100
	// statementTime bounds shared statements, because no caller's context does. It is shorter than
	// a caller's patience, so that there is time for a statement of its own.
	statementTime = 3 * time.Second
)

// success is a record that must become SUCCESS.
type success struct {
	layout *layout
	run    engine.Run
	file   string
	rows   int64
	done   bool // it became SUCCESS; false: unknown
}

// succeedTogether makes concurrent records SUCCESS: those of one attempt share a statement, and so
// a commit. If a record is not done, a statement of its own finds out why.
func (s finisher) succeedTogether(batches iter.Seq[[]*success]) {
	for batch := range batches {
		ctx, cancel := context.WithTimeout(context.Background(), statementTime)
		var ones []*success
		var runs []engine.Run
		alike := map[string]bool{}
		for _, one := range batch {
			// If a collation treated two ids as equal, the number of changed rows would be wrong and
			// no success would be known.
			if id := strings.ToLower(one.run.ID); one.layout == batch[0].layout && !alike[id] {
				alike[id] = true
				ones, runs = append(ones, one), append(runs, one.run)
			}
		}
		for of, same := range batch[0].layout.batches(runs) {
			var files, rows each
			var ended []engine.Run
			for _, n := range same {
				one := ones[n.index]
				files, rows, ended = append(files, one.file), append(rows, one.rows), append(ended, one.run)
			}
			n, err := s.end(ctx, batch[0].layout, change{of: same, attempt: of.now, from: running[1:],
				to: report.Success, set: map[string]any{"file": files, "rows": rows, "error": nil}}, ended...)
			if err != nil {
				break
			}
			for _, one := range same {
				ones[one.index].done = n == int64(len(same))
			}
		}
		cancel()
	}
}

// fit shortens a text to the size of a column.
func fit(text string, limit size) string {
	text = report.ShortenTo(text, limit.characters)
	return strings.ToValidUTF8(text[:min(len(text), limit.bytes)], "")
}

// plain replaces characters that are not ASCII, and NUL.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r == 0 || r >= utf8.RuneSelf {
			return '?'
		}
		return r
	}, text)
}
