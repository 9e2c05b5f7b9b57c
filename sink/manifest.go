package sink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/report"
)

// Manifest says what an object was made from. It lies beside the object as
// indented JSON, under ManifestName. manifest_encode.go writes it with the same names.
type Manifest struct {
	Job        ManifestJob     `json:"job"`
	Definition string          `json:"definition"` // hash of the report's definition
	Parameters json.RawMessage `json:"parameters"` // of the record; nil becomes null
	Rows       int64           `json:"rows"`       // without the header
	Bytes      int64           `json:"bytes"`
	CRC32C     string          `json:"crc32c"`     // see Checksum
	File       string          `json:"file"`       // the object's URL
	SaveAs     string          `json:"save_as"`    // name under which browsers save it
	CreatedAt  time.Time       `json:"created_at"` // written in UTC, to the millisecond
	// in which the file shows datetimes; empty: as their sources gave them
	TimeZone  string             `json:"time_zone,omitempty"`
	Columns   []ManifestColumn   `json:"columns"`   // of the file, in its order
	Listeners []ManifestListener `json:"listeners"` // in the order of the definition
	Fold      []ManifestStep     `json:"fold"`      // in the order of the steps
}

// ManifestJob names the job that made the object.
type ManifestJob struct {
	Record  string `json:"record"`
	Attempt int64  `json:"attempt"`
	Report  string `json:"report"`
	// StartedAt is when the attempt began, like the times of listeners.
	StartedAt time.Time `json:"started_at,omitzero"`
}

// ManifestColumn says where a column of the object comes from.
type ManifestColumn struct {
	Label    string `json:"label"`
	Listener string `json:"listener,omitempty"` // empty for a key of the join, which several give
	Column   string `json:"column"`             // the listener's, or the key
	// in its source; of a key, in that of the first listener; empty: not known
	Type    report.Kind `json:"type,omitempty"`
	Escaped int64       `json:"escaped,omitempty"` // cells that the format has escaped
}

// ManifestListener says what one listener gave to the object. Its times are Redis's,
// in UTC, to the millisecond, and those of its last try.
type ManifestListener struct {
	Name  string `json:"name"`
	Stage int    `json:"stage"`
	Rows  int64  `json:"rows"`
	Tries int64  `json:"tries"`
	// its reading began: of a database, the moment that its rows are of
	AsOf       time.Time `json:"as_of,omitzero"`
	DoneAt     time.Time `json:"done_at,omitzero"` // it was done, or given up
	DurationMS int64     `json:"duration_ms"`      // from one to the other
	// ReusedFrom is the attempt that has read it, if that is an earlier one.
	ReusedFrom int64            `json:"reused_from,omitempty"`
	Columns    []dataset.Column `json:"columns"`

	// Parts is in how many ranges the rows were read; 0: at once. Snapshot is the server's name for the moment that all
	// of them are of, or "approximate".
	Parts    int64  `json:"parts,omitempty"`
	Snapshot string `json:"snapshot,omitempty"`

	// Rows without a match by the keys of the join, of a joined listener after the first; otherwise
	// nil. The types of the join do not matter.
	Unmatched      *int64 `json:"unmatched,omitempty"`       // of this listener, in the first one
	FirstUnmatched *int64 `json:"first_unmatched,omitempty"` // of the first listener, in this one

	// Omitted is "empty" or "values" if the file was made without it: what its columns have.
	Omitted string `json:"omitted,omitempty"`
	// Stale is true if the rows are those of an earlier job, because this one could not read them.
	Stale bool   `json:"stale,omitempty"`
	Error string `json:"error,omitempty"` // why it was omitted, or is stale
}

// ManifestStep says what a step of the fold did: see fold.Step.
type ManifestStep struct {
	Step  string `json:"step"`
	Depth int    `json:"depth,omitempty"`
	Rows  *int64 `json:"rows,omitempty"` // nil: it did not run, or a LIMIT ended it
	How   string `json:"how,omitempty"`
}

// ManifestName returns the name of the manifest of the object of that name.
func ManifestName(name string) string { return name + ".manifest.json" }

// Checksum is how a manifest writes a CRC32C: 8 hex digits.
func Checksum(crc32c uint32) string { return fmt.Sprintf("%08x", crc32c) }

// WriteManifest puts m beside the object of that name. An existing manifest stays unchanged and is no conflict: a
// fold that ran again has other times, but describes the same object. After an error it may be called again.
func WriteManifest(ctx context.Context, s Sink, name string, m Manifest) error {
	data, err := m.encode()
	if err != nil {
		return fmt.Errorf("encode manifest of %s: %w", name, err)
	}
	w, err := s.Create(ctx, Object{Name: ManifestName(name), ContentType: "application/json"})
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := w.Write(data); err != nil {
		return err
	}
	if _, err := w.Commit(); err != nil && !errors.Is(err, ErrConflict) {
		return err
	}
	return nil
}

// maxManifest bounds how much of a manifest is read, in bytes.
const maxManifest = 4 << 20

// ReadManifest returns what the object of that name was made from. The error matches ErrNoObject
// if it has no manifest.
func ReadManifest(ctx context.Context, s Sink, name string) (m Manifest, err error) {
	in, err := s.Open(ctx, ManifestName(name))
	if err != nil {
		return m, err
	}
	defer in.Close()
	if err := json.NewDecoder(io.LimitReader(in, maxManifest)).Decode(&m); err != nil {
		return m, fmt.Errorf("read manifest of %s: %w", name, err)
	}
	return m, nil
}
