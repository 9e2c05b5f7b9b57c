package report

// Kind is the type of a column's values. It determines the JSON form of a value
// in Redis and how keys are compared.
type Kind string

// The kinds of columns. docs/reference/keys.md has the table of SQL types.
const (
	KindInteger Kind = "integer" // JSON number, all digits of 64 bits
	KindDecimal Kind = "decimal" // JSON string, as the source delivers it
	// JSON number, the shortest that reads back the same, or with a fixed number of decimals
	KindFloat    Kind = "float"
	KindText     Kind = "text"     // JSON string
	KindDate     Kind = "date"     // JSON string 2006-01-02
	KindDatetime Kind = "datetime" // JSON string 2006-01-02 15:04:05[.ffffff]
	KindTime     Kind = "time"     // JSON string [-]hhh:mm:ss[.ffffff]
	KindJSON     Kind = "json"     // JSON string that contains the text of the document
	KindBinary   Kind = "binary"   // JSON string, base64 with padding (RFC 4648, section 4)
)

// Kinds are all of them.
var Kinds = []Kind{KindInteger, KindDecimal, KindFloat, KindText, KindDate, KindDatetime, KindTime,
	KindJSON, KindBinary}
