package report

// File defines the file. The JSON is part of the definition's hash, which fields that are not set
// do not change.
type File struct {
	// Format of the file, with [its own fields](#file-formats)
	Format string `yaml:"format" kinds:"format"`
	// Name under which a browser saves the file, without its ending, such as `orders-{from}`: `{parameter}` is
	// the value of a parameter that is no list, and a datetime with an offset is in UTC; `{id}` is the id of the
	// record. What a file system may refuse becomes a hyphen. The name in the sink [stays](#sink)
	Name string `yaml:"name" unset:"report and id" json:",omitempty"`
	// Join key, column that only one listener has, `<listener>.<column>`, or these fields
	Columns []FileColumn `yaml:"columns" min:"1" unset:"the join keys, then all other columns"`
	// Name of a parameter, a list of strings, by which who creates a job chooses columns and their order. Its
	// `options` are labels of columns. Without a value, or with an empty list, the file has all
	ColumnsFrom string `yaml:"columns_from" unset:"all columns, always" json:",omitempty"`
	// Zone in which datetimes are written: see [Time zones](#time-zones)
	TimeZone string `yaml:"time_zone" form:"zone" unset:"as the source delivers them" json:",omitempty"`
	// `gzip` compresses the file: its name ends in `.gz`, and its type is application/gzip, without a Content-Encoding.
	// `zip` puts it into an archive
	Compress Compression `yaml:"compress" enum:"off=,gzip,zip" default:"off" json:",omitempty"`
	// Divides the rows over several files in one archive. Needs `compress: zip`
	Split Split `yaml:"split" unset:"one file" json:",omitzero"`
	// What happens if there are no rows: `write` makes a file with a header, `skip` makes the record SUCCESS without a
	// file, and `fail` fails the job at once
	Empty Empty `yaml:"empty" enum:"write=,skip,fail" default:"write" json:",omitempty"`
	// Maximum number of rows, without the header. A job with more fails at once, and its error says what to do.
	// Excel shows 1,048,576 rows
	MaxRows int64 `yaml:"max_rows" min:"1" max:"4294967295" unset:"no limit" json:",omitempty"` // 0: any
	// Maximum size of the file in the sink. A job with a larger file fails
	MaxBytes int64 `yaml:"max_bytes" unit:"bytes" min:"1" max:"5120GB" unset:"no limit" json:",omitempty"`

	// Options points to the format's own fields; nil: it has none.
	Options any `of:"format" json:",omitempty"`
	// Fixed maps the index of a column from 0 to the JSON of its cell in every row. Report.Without sets it.
	Fixed map[int]string `json:",omitempty"`
}

// Compression is what is done with the bytes of a file.
type Compression string

// The compressions.
const (
	Uncompressed Compression = ""
	Gzip         Compression = "gzip"
	Zip          Compression = "zip"
)

// Empty is what happens if a file would have no rows.
type Empty string

// The policies for no rows.
const (
	EmptyWrite Empty = ""
	EmptySkip  Empty = "skip"
	EmptyFail  Empty = "fail"
)

// Split divides the rows of a file.
type Split struct {
	// Maximum number of rows of one file in the archive. Each has its own header
	Rows int64 `yaml:"rows" min:"1" max:"4294967295" need:"Write the number of rows of one file: split: {rows: 100000}" json:",omitempty"`
}

// FileColumn is one column of the file.
type FileColumn struct {
	// Text in the header
	Label    string `yaml:"label" unset:"the column's name"`
	Listener string // empty for a key column of the join, which has the first value that is not null
	// Join key, column, or `<listener>.<column>`
	Column string `yaml:"column" short:"" need:"Name a join key, a column, or <listener>.<column>"` // without the listener
}

// Format is what a configuration needs to know of a file format.
type Format struct {
	Name string // value of file.format
	// Fields returns a pointer to a new struct with the tags of config/decode: the format's own
	// fields, which become File.Options. Nil: it has none.
	Fields func() any
	// Check returns what is wrong with the file of a report whose fields are valid each by itself;
	// nil: nothing can be wrong.
	Check func(r *Report) []FieldMistake
	// Packed says why a file is not compressed by gzip, such as "a zip file is compressed already";
	// empty: it can be.
	Packed string
	// MaxRows is the maximum number of rows that a file can have; 0: any.
	MaxRows int64
	// ShowsZone reports whether the format's own fields make the file show a time zone; nil: never.
	ShowsZone func(f *File) bool
}

// FieldMistake is what is wrong with a field of a mapping.
type FieldMistake struct {
	Field string
	Mistake
}
