package testenv

import "regexp"

// sequence matches a table of MariaDB's sequence engine, such as seq_1_to_100 or seq_100_to_1, and
// its alias.
var sequence = regexp.MustCompile(`\bseq_(\d+)_to_(\d+)( [a-z]\b)?`)

// SQL returns a text with statements for this server. It may read MariaDB's tables seq_1_to_n and
// seq_n_to_1 with their column seq, which MySQL does not have. An alias has one letter.
func (d *Database) SQL(text string) string {
	if !d.MySQL {
		return text
	}
	return sequence.ReplaceAllStringFunc(text, func(table string) string {
		m := sequence.FindStringSubmatch(table)
		name, n, column := " "+table, m[2], "seq"
		if m[1] != "1" {
			n, column = m[1], m[1]+" + 1 - seq AS seq"
		}
		if m[3] != "" {
			name = m[3]
		}
		return "(SELECT " + column + " FROM JSON_TABLE(CONCAT('[0', REPEAT(',0', " + n +
			" - 1), ']'), '$[*]' COLUMNS (seq FOR ORDINALITY)) j)" + name
	})
}
