package dashboard

import (
	"crypto/rand"
	"maps"
	"net/url"
	"sync"
	"time"
)

// messages keeps the results of changes for the pages that show them. A page refers to its message by a random
// word, so that a link of another site cannot choose the text of a page.
type messages struct {
	mu    sync.Mutex
	known map[string]message // by word
}

type message struct {
	at   time.Time
	Text string
	Undo []act // takes the change back; none: nothing does
}

const (
	maxMessageAge = 5 * time.Minute
	maxMessages   = 1000
)

// keep stores a text for maxMessageAge at most, and returns its word.
func (m *messages) keep(text string, undo []act) string {
	word := rand.Text()
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.known, func(_ string, one message) bool { return time.Since(one.at) > maxMessageAge })
	if m.known == nil || len(m.known) >= maxMessages {
		m.known = map[string]message{}
	}
	m.known[word] = message{time.Now(), text, undo}
	return url.QueryEscape(word)
}

// take returns the message of a word, once; without a text: the word is unknown. A page that is loaded again would
// show what may no longer hold.
func (m *messages) take(word string) message {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer delete(m.known, word)
	return m.known[word]
}
