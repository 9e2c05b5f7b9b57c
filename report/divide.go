package report

// Divide says how the rows of a listener are read in parts: by ranges of a column with whole numbers. Each range is a
// query of its own.
type Divide struct {
	// Column of the result, with whole numbers. Best is the first column of an index
	By string `yaml:"by" need:"Name a column of the result with whole numbers, such as the primary key"`
	// Number of the ranges, which have at least 10,000 numbers each
	Parts int `yaml:"parts" default:"4" min:"2" max:"64" why:"Remove divide to read in one query"`
	// `same`: all ranges are read as of one moment, which the database must prove. `approximate`: of moments close
	// together, or far apart if the listener is tried again
	Snapshot Snapshot `yaml:"snapshot" enum:"same,approximate" default:"same" why:"Write same for rows of one moment"`
	Line     int      // of the configuration, where it stands
}

// Snapshot says of which moments the parts of a divided listener are.
type Snapshot string

// The values of Snapshot.
const (
	SnapshotSame        Snapshot = "same"
	SnapshotApproximate Snapshot = "approximate"
)

// Range is a range of the numbers in a column: From ≤ number < To. A bound that is nil does not exist. The range
// without From also has the rows with NULL.
type Range struct{ From, To *int64 }

// Bounds returns the bounds between the ranges for numbers from least to greatest, at most Parts-1, in order. A range
// has as many numbers as minRange at least; there is no bound if one range is enough.
func (d Divide) Bounds(least, greatest, minRange int64) []int64 {
	if greatest < least {
		return nil
	}
	last := uint64(greatest) - uint64(least) // it can be more than an int64
	parts := min(uint64(d.Parts), last/uint64(minRange)+min(1, (last%uint64(minRange)+1)/uint64(minRange)))
	var bounds []int64
	for i := uint64(1); i < parts; i++ {
		bounds = append(bounds, int64(uint64(least)+(last/parts+1)*i))
	}
	return bounds
}

// RangeOf returns the range with a number from 0 to len(bounds).
func RangeOf(bounds []int64, number int) (r Range) {
	if number > 0 {
		r.From = &bounds[number-1]
	}
	if number < len(bounds) {
		r.To = &bounds[number]
	}
	return r
}
