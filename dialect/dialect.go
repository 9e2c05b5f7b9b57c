package dialect

// Dialect is the SQL of a kind of server. It is immutable and safe for concurrent use.
type Dialect struct {
	Strings      string // the bytes that begin and end a string; doubled, they stand for themselves
	Names        string // the same for names
	Backslashes  bool   // a backslash escapes the next byte of a string
	HashComments bool   // # begins a comment
	SpacedDashes bool   // -- begins a comment only if white space follows
	RunComments  bool   // the server executes the text of a comment /*! … */
	// Dollars: $tag$ … $tag$ is a string, $1 is a placeholder, and ? an operator.
	Dollars        bool
	EscapeStrings  bool // in a string E'…', a backslash escapes the next byte
	NestedComments bool // a comment /* … */ can contain others
	LowerNames     bool // a name without quotes is in lower case

	// Placeholder returns that of the n-th argument, from 1. With Dollars, all uses of a parameter have one,
	// except before IS NULL, where the server could not tell its type.
	Placeholder func(n int) string
}

// MySQL is the SQL of MySQL and MariaDB in their default mode.
var MySQL = &Dialect{
	Strings: `'"`, Names: "`",
	Backslashes: true, HashComments: true, SpacedDashes: true, RunComments: true,
	Placeholder: func(int) string { return "?" },
}
