// Package decode answers one question: how does a YAML file become structs, with a message
// for every mistake in it?
//
// The tags of a struct define what the file can contain; a Reader reads the file into it. The
// Reader records every problem with its place, value and remedy, and continues. The Section of
// a struct (Reader.Of) has the places of its fields, so that the caller can validate fields
// together and record more problems. No message shows a secret, or the value of a variable
// that a secret uses.
//
// The tags:
//
//	yaml     name in the file; an embedded struct has none, and adds its fields
//	key      the field takes the name of its struct's entry in a mapping; the form of that name
//	short    the struct can be written as the value of this field alone
//	default  value of an omitted field, as in the file; unset describes it in words
//	min, max bounds, as in the file; min of a list is "1"
//	unit     bytes: the number is a size
//	enum     allowed words, for a bool those of false and true; word=value if they differ
//	form     name of the text's form in the Language
//	file     name of the field that can name a file with the value
//	secret   the value is never shown
//	open     the value may be shown, although the field has the name of a secret
//	credentials of the names and values in the field, those with the name of a secret are masked by Encode
//	with     the default has an effect only beside one of these fields, or name=value; Encode leaves it out otherwise
//	one      a list with one item can be written without brackets
//	need     the field is required; the remedy if it is missing
//	why      remedy for a value that is not allowed
//	doc      its description in the schema and the documentation, if it has no comment
//	kinds    the value is the name of a kind of this table of the Language; default: its first
//	of       the field, of type any, holds a pointer to the own fields of the kind that the field
//	         with the same table in "kinds" names. They stand in the same mapping
//	choice   the field, of type any, holds a pointer to the own fields of a kind of this table. They
//	         are the value of the field with the name of the kind; a file should have one of them
//	raw      the field is not decoded; read it from Section.Raw
//	include  the field lists names and patterns of files that are read with this one
//	included the field, a mapping by names, may also stand in these files, with other names
//	types    the JSON types of a Setting, for the schema
//
// A report.Secret is always secret, a Content names a file with a secret, and a Setting is a
// value that is not decoded. A pointer to a string type is nil if the field is not given. A Text
// checks itself. Other types need no tags. A mapping with free names is a list of
// structs with a key, or a map of single values.
package decode
