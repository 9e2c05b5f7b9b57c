package gcs

import "time"

// SetStall shortens what one call of Write or Commit may take.
func SetStall(s *Sink, d time.Duration) { s.stall = d }
