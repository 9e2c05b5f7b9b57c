package dataset

import "github.com/fanfold/fanfold/report"

// Column is one column of a dataset. A null value is JSON null in every kind.
type Column struct {
	Name     string      `json:"name"`
	Kind     report.Kind `json:"type"`
	Bits     int         `json:"bits,omitempty"`      // of a float: 32 for single precision, 0 for double
	Fixed    bool        `json:"fixed,omitempty"`     // of a float or a time: its decimals are known
	Zone     string      `json:"time_zone,omitempty"` // zone of datetimes, a name of the tz database; empty: UTC
	Zerofill int         `json:"zerofill,omitempty"`  // minimum characters of a number, filled with leading zeros
	Unsigned bool        `json:"unsigned,omitempty"`  // of an integer
	Digits   int         `json:"digits,omitempty"`    // maximum of a decimal; 0: not known, and neither is its scale
	// Scale is the number of decimals of a decimal, a fixed float, or the seconds of a time. 0: none, or not known.
	Scale int `json:"scale,omitempty"`
	// Collation is that of the texts at their source, such as utf8mb4_general_ci; empty: they compare by their bytes.
	Collation string `json:"collation,omitempty"`
}
