package testenv

import (
	"cmp"
	"regexp"
)

// sequence matches a table of MariaDB's sequence engine, such as seq_1_to_100, and its alias.
var sequence = regexp.MustCompile(`\bseq_1_to_(\d+)( [a-z]\b)?`)

// SQL returns a text with statements for this server. It may read MariaDB's tables seq_1_to_n with
// their column seq, which MySQL does not have. An alias has one letter.
func (d *Database) SQL(text string) string {
	if !d.MySQL {
		return text
	}
	return sequence.ReplaceAllStringFunc(text, func(table string) string {
		m := sequence.FindStringSubmatch(table)
		alias := cmp.Or(m[2], " seq_1_to_"+m[1])
		return "JSON_TABLE(CONCAT('[0', REPEAT(',0', " + m[1] + " - 1), ']'), '$[*]' COLUMNS (seq FOR ORDINALITY))" + alias
	})
}
