package report

// csvLine writes the lines of a CSV file as RFC 4180 has them: CRLF line ends,
// and quotes only around a cell that holds a comma, a quote, CR or LF.
//
// encoding/csv is not used, because with UseCRLF it also rewrites the line
// breaks inside of cells, and what a cell says must arrive as it is. It also
// wants every cell as a string, which is an allocation for each.
type csvLine struct {
	bytes   []byte // the line so far
	cells   int
	scratch []byte // a cell with its escapes undone
}

// reset begins a new line.
func (l *csvLine) reset() { l.bytes, l.cells = l.bytes[:0], 0 }

// cell adds the JSON of a value, as Chunk.Cell gives it; nil is null.
func (l *csvLine) cell(cell []byte) {
	if isNull(cell) || cell[0] != '"' {
		l.separate()
		l.bytes = AppendText(l.bytes, cell) // numbers and words need no quotes
		return
	}
	inside := cell[1 : len(cell)-1]
	for _, c := range inside {
		if c == '\\' {
			l.scratch = appendUnescaped(l.scratch[:0], inside)
			inside = l.scratch
			break
		}
	}
	l.text(inside)
}

// text adds a cell that says this.
func (l *csvLine) text(text []byte) {
	l.separate()
	i := 0
	for i < len(text) && !quotedInCSV[text[i]] {
		i++
	}
	if i == len(text) {
		l.bytes = append(l.bytes, text...)
		return
	}
	l.bytes = append(l.bytes, '"')
	for _, c := range text {
		if c == '"' {
			l.bytes = append(l.bytes, '"')
		}
		l.bytes = append(l.bytes, c)
	}
	l.bytes = append(l.bytes, '"')
}

// end returns the whole line; it is valid until reset.
func (l *csvLine) end() []byte {
	if l.cells == 1 && len(l.bytes) == 0 {
		l.bytes = append(l.bytes, '"', '"') // many readers skip a blank line
	}
	l.bytes = append(l.bytes, '\r', '\n')
	return l.bytes
}

func (l *csvLine) separate() {
	if l.cells > 0 {
		l.bytes = append(l.bytes, ',')
	}
	l.cells++
}

var quotedInCSV = [256]bool{',': true, '"': true, '\r': true, '\n': true}
