package http

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/ask"
	"github.com/fanfold/fanfold/listeners"
	"github.com/fanfold/fanfold/step"
)

const (
	// pauseInPlace is the maximum delay after which a later page is requested again in the same try.
	pauseInPlace = time.Minute
	// shortPause is the minimum.
	shortPause = time.Second
	// pauses is the maximum number of such delays in a row.
	pauses = 10
)

// page is an answer that was read.
type page struct {
	rows   int
	digest [sha256.Size]byte
	next   any // nil: none
	count  any
	counts bool // the response has it
	url    *url.URL
}

// paging reads the pages of a result.
type paging struct {
	*reader
	what  string // for messages
	first *url.URL
	seen  map[[sha256.Size]byte]int // numbers of pages, by the digests of their texts and URLs
	total int                       // rows
}

// readPages reads all pages of the result of a part.
func (r *reader) readPages(ctx context.Context, p part) error {
	asked, err := r.request(r.fields.Result.Request, p)
	if err != nil {
		return err
	}
	ps := &paging{r, asked.what, asked.url, map[[sha256.Size]byte]int{sha256.Sum256([]byte(asked.url.String())): 0}, 0}
	for number := 0; ; number++ {
		more, err := ps.read(ctx, &asked, number)
		if err != nil || !more {
			return err
		}
	}
}

// read reads a page. If there is another one, it changes the request to it.
func (ps *paging) read(ctx context.Context, asked *request, number int) (more bool, err error) {
	result := ps.fields.Result
	switch {
	case result.Page != "":
		asked.url = with(ps.first, result.Page, strconv.Itoa(result.First+number))
	case result.Offset != "":
		asked.url = with(ps.first, result.Offset, strconv.Itoa(ps.total))
	}
	p, err := ps.page(ctx, *asked, number)
	if err != nil {
		return false, err
	}
	ps.total += p.rows
	if before, twice := ps.seen[p.digest]; twice && p.rows > 0 {
		return false, fmt.Errorf("API %s: %s: page %d repeats page %d", ps.source.api.Name, ps.what, number+1, before+1)
	}
	ps.seen[p.digest] = number
	last := p.rows == 0
	if result.Page == "" && result.Offset == "" {
		if last, err = ps.next(asked, p); err != nil {
			return false, err
		}
		way := sha256.Sum256([]byte(asked.url.String()))
		if before, twice := ps.seen[way]; twice && !last {
			return false, fmt.Errorf("API %s: %s: page %d leads to the same page as page %d", ps.source.api.Name,
				ps.what, number+1, before+1)
		}
		ps.seen[way] = number
	} else if count, ok := scalar(p.count); ok && count == strconv.Itoa(ps.total) {
		last = true
	}
	if last {
		return false, ps.counted(p)
	}
	return true, nil
}

// next changes the request to that for the next page; last is true if there is none.
func (ps *paging) next(asked *request, p page) (last bool, err error) {
	result, api := ps.fields.Result, ps.source.api.Name
	text, ok := scalar(p.next)
	switch {
	case p.next == nil, p.next == false, ok && text == "":
		return true, nil
	case !ok:
		return false, listeners.Permanent(fmt.Errorf("API %s: %s: %s is %s, which names no page", api, asked.what,
			result.Next, shown(p.next)))
	case result.NextAs.Query != "":
		asked.url = with(ps.first, result.NextAs.Query, text)
		return false, nil
	}
	to, err := p.url.Parse(text)
	if err != nil || !ask.SameHost(to, ps.first) {
		text, _, _ = strings.Cut(text, "?") // the query may contain a token
		return false, listeners.Permanent(fmt.Errorf("API %s: %s: the next page is %.100q, which is not on the host of the API", api, asked.what, text))
	}
	to.Fragment = ""
	asked.url = to
	return false, nil
}

// counted compares the number of rows with the count in the API's answer.
func (ps *paging) counted(p page) error {
	result, api := ps.fields.Result, ps.source.api.Name
	text, _ := scalar(p.count)
	switch {
	case !result.Count.Given() || text == strconv.Itoa(ps.total):
		return nil
	case !p.counts:
		return fmt.Errorf("API %s: count: the answer has no %s: correct result.count", api, result.Count)
	case result.Page == "" && result.Offset == "":
		return fmt.Errorf("API %s: %d rows arrived, but count (%s) says %s: is result.next right?", api, ps.total,
			result.Count, shown(p.count))
	}
	return fmt.Errorf("API %s: %d rows arrived, but count (%s) says %s", api, ps.total, result.Count, shown(p.count))
}

// with sets a value in the query of a URL.
func with(u *url.URL, name, value string) *url.URL {
	changed := *u
	query := changed.Query()
	query.Set(name, value)
	changed.RawQuery = query.Encode()
	return &changed
}

// page reads one page. If the API is busy, it requests a later page again after a short delay.
func (r *reader) page(ctx context.Context, asked request, number int) (page, error) {
	if number > 0 {
		asked.pause = shortPause
	}
	for paused := 0; ; paused++ {
		if err := r.waitForTurn(ctx); err != nil {
			return page{}, err
		}
		p, err := r.once(ctx, asked)
		f := ask.As(err)
		if f == nil || f.Kind != ask.Busy {
			return p, err
		}
		if number == 0 || f.After > pauseInPlace || paused == pauses {
			return p, wait(f, err)
		}
		if step.Wait(ctx, max(f.After, shortPause)) != nil {
			return p, context.Cause(ctx)
		}
	}
}

// once requests a page and reads it.
func (r *reader) once(ctx context.Context, asked request) (page, error) {
	result := r.fields.Result
	answer, err := r.do(ctx, asked)
	if err != nil {
		return page{}, err
	}
	defer answer.Close()
	p := page{url: answer.URL}
	digest := sha256.New()
	w := newWalk(io.TeeReader(answer.Body, digest), func(row any) error {
		p.rows++
		defer answer.Time.Pause()()
		return r.rows.add(row)
	}, result.Next, result.Count)
	err = w.run(result.Rows)
	switch {
	case err != nil && (answer.Time.Over() || errors.Is(err, ask.ErrTooLong) || ask.As(err) != nil):
		return p, r.source.unread(ctx, asked, answer, err)
	case errors.Is(err, errDocument):
		return p, fmt.Errorf("API %s: %s: %w", r.source.api.Name, asked.what, err)
	case err != nil && ctx.Err() != nil:
		return p, context.Cause(ctx)
	case err != nil:
		return p, err
	case !w.there:
		return p, listeners.Permanent(fmt.Errorf("API %s: %s: rows: the answer has no %s: correct result.rows, the path to the array of rows", r.source.api.Name, asked.what, result.Rows))
	case w.odd:
		return p, listeners.Permanent(fmt.Errorf("API %s: %s: rows: %s is not an array: correct result.rows",
			r.source.api.Name, asked.what, result.Rows))
	}
	digest.Sum(p.digest[:0])
	p.next, p.count, p.counts = w.found[0].value, w.found[1].value, w.found[1].there
	return p, nil
}
