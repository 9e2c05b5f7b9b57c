package fold

import (
	"io"

	"github.com/fanfold/fanfold/dataset"
	"github.com/fanfold/fanfold/format"
	"github.com/fanfold/fanfold/report"
)

// maker makes records of the rows of datasets.
type maker struct {
	layout *format.Layout
	keyer  *keyer
	buffer []byte
}

// record makes the record of a row, valid until the next call.
func (m *maker) record(n int, in *input, c *dataset.Chunk, row int) (record, error) {
	k, known := m.keyer.find(c, row, in.keys)
	m.buffer = beginRecord(m.buffer[:0], k, known)
	m.buffer = m.layout.AppendRow(m.buffer, n, c, row)
	return endRecord(m.buffer)
}

// hold reads a dataset to its end, or until it has used so many bytes; then it is
// false.
func (m *maker) hold(n int, in *input, h *held, bytes int64) (bool, error) {
	for {
		c, err := in.next()
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		for row := range c.Rows() {
			r, err := m.record(n, in, c, row)
			if err == nil && (!r.has(flagNoKey) || in.Kind == report.Full) {
				err = h.add(r)
			}
			if err != nil {
				return false, in.failed(err)
			}
		}
		if h.used() > bytes {
			return false, nil
		}
	}
}

// probe gives the rows of the first dataset to a join.
func (m *maker) probe(in *input, j *join) error {
	b := newBatch(len(j.sides))
	for number := uint32(0); ; {
		c, err := in.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for from := 0; from < c.Rows(); from += batchRows {
			to := min(from+batchRows, c.Rows())
			if len(j.sides) > 1 {
				b.reset()
				for row := from; row < to; row++ {
					b.add(m.keyer.find(c, row, in.keys))
				}
				j.find(b)
			}
			for row := from; row < to; row++ {
				m.buffer = m.layout.AppendRow(m.buffer[:0], 0, c, row)
				if err := j.addNext(b, row-from, number, m.buffer); err != nil {
					return err
				}
				number++
			}
		}
	}
}
