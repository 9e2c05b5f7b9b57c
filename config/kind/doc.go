// Package kind answers one question: what does a kind of source bring to a configuration?
//
// A kind brings its name, the form of its data source names, the fields that only its listeners have,
// and the function that validates them. The package of a kind, such as listeners/mysql, fills in a
// Source; package config reads every kind by it, and knows none by name.
package kind
