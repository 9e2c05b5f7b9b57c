package dataset

import "github.com/fanfold/fanfold/report"

// Column is one column of a dataset. A null value is JSON null in every kind.
type Column struct {
	Name     string      `json:"name"`
	Kind     report.Kind `json:"type"`
	Bits     int         `json:"bits,omitempty"`      // of a float: 32 for single precision, 0 for double
	Fixed    bool        `json:"fixed,omitempty"`     // of a float: it has a fixed number of decimals
	Zone     string      `json:"time_zone,omitempty"` // zone of datetimes, a name of the tz database; empty: UTC
	Zerofill int         `json:"zerofill,omitempty"`  // minimum characters of a number, filled with leading zeros
}
