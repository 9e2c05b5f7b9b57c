package dashboard

import (
	"context"
	"sync"
	"time"

	"github.com/fanfold/fanfold/internal/words"
)

// probeSlow is after how long without an answer pages say so. With a sample every 2 seconds, a server that hangs
// is shown within 5 seconds.
const probeSlow = 1500 * time.Millisecond

// server is whether a server answers.
type server struct {
	Known bool      // it was asked
	Err   string    // why it does not answer; empty: it does
	Since time.Time // when it was asked first and did not answer
}

// probe asks a server in the background, so that one that hangs delays no page: a file server ignores the context.
// The zero value has nothing to ask.
type probe struct {
	ask func(context.Context) error

	mu    sync.Mutex
	asked time.Time // the question that has no answer yet; zero: none
	last  server
}

// read asks again, unless the last question has no answer yet, and returns what is known without waiting.
func (p *probe) read(ctx context.Context) server {
	if p.ask == nil {
		return server{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked.IsZero() {
		p.asked = time.Now()
		go p.answer(context.WithoutCancel(ctx), p.asked)
	}
	if waits := time.Since(p.asked); waits > probeSlow {
		return server{Known: true, Err: "it has not answered for " + words.Short(waits), Since: p.since(p.asked)}
	}
	return p.last
}

// since returns since when the server does not answer, if it does not answer a question that began then.
func (p *probe) since(began time.Time) time.Time {
	if p.last.Err != "" {
		return p.last.Since
	}
	return began
}

// answer asks the question that began then, and keeps its answer.
func (p *probe) answer(ctx context.Context, began time.Time) {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	err := p.ask(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = time.Time{}
	if err == nil {
		p.last = server{Known: true}
		return
	}
	p.last = server{Known: true, Err: err.Error(), Since: p.since(began)}
}

// trouble is a server that does not answer, for people.
type trouble struct {
	What string
	server
}

// Troubles are the servers that do not answer. What the sample says of Redis is elsewhere.
func (s *sample) Troubles() (all []trouble) {
	for _, one := range []trouble{
		{"The sink", s.Sink}, {"The spool", s.Spool},
		{"Redis or the database of the records", s.Ready},
	} {
		if one.Err != "" {
			all = append(all, one)
		}
	}
	return all
}
