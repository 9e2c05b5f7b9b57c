package xlsx

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fanfold/fanfold/report"
)

// style is an index into the formats of cells in styles.xml.
type style int

const (
	styleGeneral style = iota
	styleHeader
	styleText // a text that stays one if a person edits the cell
	styleDate
	styleDatetime
	styleMoment // a datetime with a fraction
	styleTime
	styleDuration // a time with a fraction
	styleNumber   // a number without decimals; those with more follow
)

const (
	maxDigits   = 15 // that a number of Excel keeps
	maxDecimals = 30 // of a number format
	styleFilled = styleNumber + maxDecimals + 1
)

// codes are the number formats of the styles between those of texts and numbers.
var codes = map[style]string{
	styleDate: "yyyy-mm-dd", styleDatetime: "yyyy-mm-dd hh:mm:ss", styleMoment: "yyyy-mm-dd hh:mm:ss.000",
	styleTime: "[hh]:mm:ss", styleDuration: "[hh]:mm:ss.000",
}

// codeOf returns the number format of the pieces of a layout. A mistake says what Excel cannot show.
func codeOf(pieces []string) (code string, wrong *report.Mistake) {
	mistake := func(message, remedy string) (string, *report.Mistake) {
		return "", &report.Mistake{Message: message, Remedy: remedy}
	}
	var tokens []string // without the texts between them
	for i, piece := range pieces {
		switch piece {
		case "ZZ":
			return mistake("a datetime of Excel has no zone", "Remove ZZ, and write the zone into the label of the column")
		case "ffffff":
			return mistake("Excel shows no microseconds", "Write fff")
		case "fff":
			if i < 2 || pieces[i-2] != "ss" || pieces[i-1] != "." {
				return mistake("Excel shows fff only behind ss and a point", "Write ss.fff")
			}
			code = strings.TrimSuffix(code, `\.`) + ".000"
		case "YYYY", "YY", "MM", "DD", "HH", "hh", "mm", "ss":
			code += strings.ToLower(piece)
		case "AM":
			code += "AM/PM"
		default:
			code += `\` + piece
			continue
		}
		tokens = append(tokens, piece)
	}
	for i, token := range tokens {
		isMinute := i > 0 && strings.EqualFold(tokens[i-1], "hh") || i+1 < len(tokens) && tokens[i+1] == "ss"
		if token == "mm" && !isMinute || token == "MM" && isMinute {
			return mistake("Excel takes the minute for the month, or the month for the minute",
				"Write mm behind HH or before ss, and MM elsewhere")
		}
	}
	return code, nil
}

// zeroFilled returns the style of whole numbers of at least that many digits.
func (e *encoder) zeroFilled(width int) style {
	i := slices.Index(e.filled, width)
	if i < 0 {
		i = len(e.filled)
		e.filled = append(e.filled, width)
	}
	return styleFilled + style(i)
}

// code returns the number format of a style.
func (e *encoder) code(s style) string {
	switch {
	case s >= styleFilled:
		return strings.Repeat("0", e.filled[s-styleFilled])
	case s > styleNumber:
		return "0." + strings.Repeat("0", int(s-styleNumber))
	case s == styleNumber:
		return "0"
	}
	return e.codes[s]
}

// styles returns styles.xml.
func (e *encoder) styles() string {
	const custom = 164 // the first id of number formats that are not built in
	var formats, cells strings.Builder
	count := styleFilled + style(len(e.filled))
	for s := range count {
		switch s {
		case styleGeneral:
			cells.WriteString(`<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>`)
		case styleHeader:
			cells.WriteString(`<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" quotePrefix="1" applyFont="1"/>`)
		case styleText:
			cells.WriteString(`<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0" quotePrefix="1"/>`)
		default:
			fmt.Fprintf(&formats, `<numFmt numFmtId="%d" formatCode="%s"/>`, custom+s, quoted(e.code(s)))
			fmt.Fprintf(&cells, `<xf numFmtId="%d" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>`,
				custom+s)
		}
	}
	font := `<sz val="11"/><name val="Calibri"/><family val="2"/>`
	return xmlHead + `<styleSheet xmlns="` + mainSpace + `">` +
		fmt.Sprintf(`<numFmts count="%d">%s</numFmts>`, count-styleDate, formats.String()) +
		`<fonts count="2"><font>` + font + `</font><font><b/>` + font + `</font></fonts>` +
		`<fills count="2"><fill><patternFill patternType="none"/></fill>` +
		`<fill><patternFill patternType="gray125"/></fill></fills>` +
		`<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>` +
		`<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>` +
		fmt.Sprintf(`<cellXfs count="%d">%s</cellXfs>`, count, cells.String()) +
		`<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`
}
