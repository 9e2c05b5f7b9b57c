package step

import (
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/scripts"
)

// handled are the entries that a Reader handles. It is safe for concurrent use.
type handled struct {
	stream, consumer string

	mu      sync.Mutex
	ids     map[string]bool
	suspect string // the one of them that may have crashed its workers; empty: none
}

// add marks messages of the stream as handled here. It leaves out those that are already handled here.
func (h *handled) add(messages []redis.XMessage) []Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	var entries []Entry
	for _, m := range scripts.EntriesOf(h.stream, h.consumer, messages) {
		if h.ids[m.ID] {
			continue
		}
		h.ids[m.ID] = true
		m.Deliveries = 1
		entries = append(entries, Entry{Entry: m})
	}
	return entries
}

// forget marks entries as no longer handled here.
func (h *handled) forget(entries []Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range entries {
		delete(h.ids, e.ID)
		if h.suspect == e.ID {
			h.suspect = ""
		}
	}
}

// choose returns which idle entries to claim, at most max, and their number of deliveries including
// this one. Of entries of batches that may have crashed their workers it chooses one at a time: if it
// crashed this worker, too, the others would be charged with a delivery. Rest tells whether it left
// any for that reason.
func (h *handled) choose(idle []redis.XPendingExt, max int,
	batch bool) (ids []string, deliveries map[string]int64, rest bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	deliveries = map[string]int64{}
	for _, p := range idle {
		suspect := batch && p.RetryCount >= maxBatched
		switch {
		case len(ids) == max || h.ids[p.ID]:
			continue
		case suspect && h.suspect != "":
			rest = true
			continue
		case suspect:
			h.suspect = p.ID
		}
		ids, deliveries[p.ID] = append(ids, p.ID), p.RetryCount+1
	}
	return ids, deliveries, rest
}

// clear forgets a suspect that was chosen and could not be claimed: another reader was first, or it
// was acknowledged.
func (h *handled) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ids[h.suspect] {
		h.suspect = ""
	}
}

// mayTakeRest tells whether no entry that may have crashed its workers is being handled here.
func (h *handled) mayTakeRest() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.suspect == ""
}
