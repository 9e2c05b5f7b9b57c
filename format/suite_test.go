package format_test

import (
	"bytes"
	"encoding/csv"
	"testing"

	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/format/formattest"
)

func TestCSV(t *testing.T) {
	t.Parallel()
	formattest.Run(t, format.CSV, formattest.Reader{Read: func(file []byte) ([][]string, error) {
		return csv.NewReader(bytes.NewReader(file)).ReadAll()
	}})
}
