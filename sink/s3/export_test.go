package s3

import (
	"net/http"
	"time"
)

// OpenWith is New with a way to the store that wraps its own.
var OpenWith = open

// SetStall shortens what one request for a part may take.
func SetStall(s *Sink, d time.Duration) { s.stall = d }

// SetPage sets the maximum number of objects in an answer to a listing.
func SetPage(s *Sink, n int) { s.page = n }

// Transport is how a test wraps the way to the store.
type Transport = func(*http.Transport) http.RoundTripper
