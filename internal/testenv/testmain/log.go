package testmain

import (
	"context"
	"strings"
	"sync"
)

// Log is a log that a test reads while it is written.
type Log struct {
	mu      sync.Mutex
	text    strings.Builder
	written chan struct{} // closed by the next Write; nil: nothing waits for it
}

// Write implements io.Writer.
func (l *Log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written != nil {
		close(l.written)
		l.written = nil
	}
	return l.text.Write(b)
}

// Lines returns the lines that contain a text.
func (l *Log) Lines(text string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines(text)
}

func (l *Log) lines(text string) (found []string) {
	for line := range strings.Lines(l.text.String()) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// Wait waits until a line contains a text, and reports whether one does.
func (l *Log) Wait(ctx context.Context, text string) bool {
	for {
		l.mu.Lock()
		if len(l.lines(text)) > 0 {
			l.mu.Unlock()
			return true
		}
		if l.written == nil {
			l.written = make(chan struct{})
		}
		written := l.written
		l.mu.Unlock()
		select {
		case <-ctx.Done():
			return false
		case <-written:
		}
	}
}
