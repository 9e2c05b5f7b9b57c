package report

import "strings"

// Sink is where files go.
type Sink struct {
	// Directory or bucket
	URL     SinkURL `yaml:"url" short:"" kinds:"sink" unset:"required"`
	Options any     `of:"sink"` // pointer to the own fields of its kind; nil: it has none
}

// Spool is where large datasets lie while their jobs run: any sink. Without URL there is none.
type Spool struct {
	Sink
	// Size of a listener's rows above which they lie in the spool, in bytes of JSON. Smaller ones lie in Redis
	Above int64 `yaml:"above" unit:"bytes" default:"1MB" min:"1KB" max:"64MB" with:"url"`
	// `off` takes less CPU time and several times the room, such as on a fast local disk. You can change it while jobs
	// run, because every process reads both forms
	Plain bool `yaml:"compression" enum:"zstd,off" default:"zstd" with:"url"`
}

// SinkURL is the URL of a sink, without slashes at the end.
type SinkURL string

// Scheme returns what precedes the ://.
func (u SinkURL) Scheme() string {
	scheme, _, _ := strings.Cut(string(u), "://")
	return scheme
}

// SinkKind is what a configuration needs to know of a kind of sink.
type SinkKind struct {
	Scheme string // of its URLs
	Form   string // of its URLs, for people
	// Notes are comments beside a URL of this scheme in a first configuration, one for each line; nil: none.
	Notes []string
	// Fields returns a pointer to a new struct with the tags of config/decode: the kind's own
	// fields, which become Sink.Options. Nil: it has none.
	Fields func() any
	// Parse returns a URL of this scheme without slashes at its end, or what is wrong with it. It
	// shows no part of the text, which can contain the value of a variable.
	Parse func(text string) (SinkURL, string)
	// Check returns a warning about a valid sink, or nil; nil: there is none.
	Check func(s *Sink) *Mistake
}
