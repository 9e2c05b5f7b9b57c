package s3

import (
	"time"
)

// OpenWith is New with a way to the store that wraps its own.
var OpenWith = open

// SetStall shortens what one request for a part may take.
func SetStall(s *Sink, d time.Duration) { s.stall = d }

// SetPage sets the maximum number of objects in an answer to a listing.
func SetPage(s *Sink, n int) { s.page = n }

// SetMaxParts sets the maximum number of parts of an object.
func SetMaxParts(s *Sink, n int) { s.maxParts = n }

// SetProved has Create trust the store as after a Check.
func SetProved(s *Sink) { s.ignores.Store(new(string)) }
