package tsv

import (
	"errors"
	"strings"
	"testing"

	"github.com/fanfold/fanfold/format/formattest"
)

// TestFormat is what every format does.
func TestFormat(t *testing.T) {
	t.Parallel()
	formattest.Run(t, Kind, formattest.Reader{Null: `\N`, Read: func(file []byte) (rows [][]string, err error) {
		unescape := strings.NewReplacer(`\t`, "\t", `\n`, "\n", `\r`, "\r", `\\`, `\`)
		for line := range strings.Lines(string(file)) {
			line, ended := strings.CutSuffix(line, "\n")
			if !ended {
				return nil, errors.New("the last line is not complete")
			}
			cells := strings.Split(line, "\t")
			for i, cell := range cells {
				if cell != `\N` {
					cells[i] = unescape.Replace(cell)
				}
			}
			rows = append(rows, cells)
		}
		return rows, nil
	}})
}
