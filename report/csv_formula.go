package report

// Formulas says what becomes of a text that a spreadsheet takes for a formula. The
// zero value leaves it as it is.
type Formulas string

// What can become of a formula.
const (
	FormulasOff    Formulas = ""       // it stays
	FormulasEscape Formulas = "escape" // a single quote goes before it
	FormulasFail   Formulas = "fail"   // the file is not made
)

// isFormula tells whether a spreadsheet could take a text for a formula: it begins
// with = + - @ or a control character, such as TAB or CR, and is neither a number nor
// this character alone. One that has single quotes before those counts, too, so that
// whoever takes one quote off each cell that begins with quotes and one of these has
// what was there.
func isFormula(text []byte, kind Kind) bool {
	first := 0
	for first < len(text) && text[first] == '\'' {
		first++
	}
	if first == len(text) || !beginsFormula(text[first]) {
		return false
	}
	switch {
	case len(text) == 1:
		return false
	case kind == KindBinary:
		return false // base64 calls nothing, and its readers take it as it is
	case kind == KindText || kind == KindJSON || kind == "":
		return !isDecimal(text)
	}
	for _, c := range text { // a number, a date or a time
		if !inMoments[c] {
			return true
		}
	}
	return false
}

func beginsFormula(c byte) bool {
	return c == '=' || c == '+' || c == '-' || c == '@' || c < ' '
}

var inMoments = func() (is [256]bool) {
	for _, c := range "0123456789+-.: eETZ" {
		is[c] = true
	}
	return is
}()

// isDecimal tells whether a text is a number: -1, +2.50, .5, 1e-7.
func isDecimal(text []byte) bool {
	i := 0
	if i < len(text) && (text[i] == '-' || text[i] == '+') {
		i++
	}
	whole := skipDigits(text, i)
	end := whole
	if end < len(text) && text[end] == '.' {
		end = skipDigits(text, end+1)
	}
	if end-i < 1 || end-i == 1 && whole == i { // nothing, or a point only
		return false
	}
	if end < len(text) && text[end]|0x20 == 'e' {
		i = end + 1
		if i < len(text) && (text[i] == '-' || text[i] == '+') {
			i++
		}
		if end = skipDigits(text, i); end == i {
			return false
		}
	}
	return end == len(text)
}

// guarded puts a single quote before the text that begins at start.
func guarded(dst []byte, start int) []byte {
	dst = append(dst, 0)
	copy(dst[start+1:], dst[start:])
	dst[start] = '\''
	return dst
}
