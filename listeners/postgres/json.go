package postgres

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/fanfold/fanfold/dataset"
)

var errArray = errors.New("the server sent an array that is not one")

// appendArray appends an array in the server's text form, such as {1,NULL,"a b"} or [0:1]={{1},{2}}, as JSON.
func appendArray(dst, text []byte, element uint32) ([]byte, error) {
	if len(text) > 0 && text[0] == '[' { // the bounds
		at := strings.IndexByte(string(text), '=')
		if at < 0 {
			return nil, errArray
		}
		text = text[at+1:]
	}
	if len(text) == 0 || text[0] != '{' {
		return nil, errArray
	}
	var word []byte // an element without its escapes
	depth, quoted, given := 0, false, false
	end := func() {
		if given {
			dst = appendElement(dst, word, quoted, element)
		}
		word, quoted, given = word[:0], false, false
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '{':
			depth++
			dst = append(dst, '[')
		case '}':
			end()
			depth--
			dst = append(dst, ']')
		case ',':
			end()
			dst = append(dst, ',')
		case '"':
			quoted, given = true, true
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' && i+1 < len(text) {
					i++
				}
				word = append(word, text[i])
			}
		default:
			if given = true; c == '\\' && i+1 < len(text) {
				i++
			}
			word = append(word, text[i])
		}
		nested := text[min(i, len(text)-1)] == '}' && i+1 < len(text) && text[i+1] != ',' && text[i+1] != '}'
		if depth == 0 && i+1 < len(text) || depth < 0 || nested || given && i+1 < len(text) && text[i+1] == '{' {
			return nil, errArray
		}
	}
	if depth != 0 {
		return nil, errArray
	}
	return dst, nil
}

// appendElement appends an element of an array as JSON: as a number, true, false, null or a document where it is
// one, otherwise as a string.
func appendElement(dst, word []byte, quoted bool, element uint32) []byte {
	text := string(word)
	if !quoted && text == "NULL" {
		return append(dst, "null"...)
	}
	switch element {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.OIDOID, pgtype.Float4OID, pgtype.Float8OID,
		pgtype.NumericOID:
		if !strings.ContainsAny(text, "NI") { // NaN and infinities
			return append(dst, word...)
		}
	case pgtype.BoolOID:
		if text == "t" {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case pgtype.JSONOID, pgtype.JSONBOID:
		return append(dst, word...)
	case pgtype.BPCharOID:
		word = []byte(strings.TrimRight(text, " "))
	}
	return dataset.AppendString(dst, word)
}
