// Package decode answers one question: how does a YAML file become structs, with every
// mistake in it named?
//
// A struct says by its tags what the file can have; a Reader reads a file into it. It
// notes every problem, each with its place, the value and the remedy, and reads on. The
// Section of a struct (Reader.Of) says where its fields are, so that its owner can prove
// what they mean together, and note problems of its own. No message shows a secret, nor
// the value of a variable that a secret uses.
//
// The tags:
//
//	yaml     name in the file; an embedded struct has none, and gives its fields
//	key      the field takes the name of its struct's entry in a mapping; the form of that name
//	short    the struct can be written as this field's value alone
//	default  value, as in the file, if the field is left out; unset says it in words, for people
//	min, max bounds, as in the file; min of a list is "1"
//	unit     bytes: the number is a size
//	enum     allowed words, for a bool those of false and true; word=value if they differ
//	form     name of the text's form in the Language
//	file     name of the field that can name a file with the value
//	secret   the value is never shown
//	one      a list of one can be written without brackets
//	need     the field is required; the remedy if it is missing
//	why      remedy of a value that is not allowed
//	kind     the embedded struct has fields for this value of the field "kind" only
//	raw      the field is not decoded: its owner reads it from Section.Raw
//
// A report.Secret is always a secret; a Content names the file with one; a Setting takes
// a value as it is. Numbers, durations, bools, texts, lists, structs and pointers to them
// need nothing else; a mapping with free names is a list of structs with a key, or a map
// of single values.
package decode
