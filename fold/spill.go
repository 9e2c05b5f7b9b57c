package fold

import (
	"encoding/binary"

	"github.com/fanfold/fanfold/report"
)

// ways is how many parts rows are divided into. Each of them has a buffer of blockBytes for
// every side.
const ways = 64

// addSpilled joins the rows of an origin with sides that do not fit into memory. It numbers
// the rows of the origin and makes an index of their keys. Of each side the rows that
// the index knows go to a scratch file, in parts: by the number of the row that they meet.
// Then the rows of the origin are read again, part by part, and meet those of the sides. So
// the rows of the file come in their order, and what is in the scratch file is read once.
//
// An origin for whose index there is no memory is joined in several passes, each of which
// reads the sides.
func (f *folder) addSpilled(j *join) error {
	for from := int64(0); ; {
		x, to, rows, err := j.index(from)
		if rows == 0 || err != nil {
			return err
		}
		if j.parts, err = j.divide(x, rows); err != nil {
			return err
		}
		if err := j.addChunks(from, to); err != nil {
			return err
		}
		from, j.first = to, j.first+rows
	}
}

// divide divides the rows of the sides that the index knows.
func (j *join) divide(x *index, rows int64) (partition, error) {
	parts := j.split(numbered{from: 0, to: rows})
	size := parts[0].to
	for n := j.origin + 1; n < len(j.inputs); n++ {
		if !j.sides[n].spilled {
			continue
		}
		if err := j.divideSide(n, x, func(number uint32) *run { return parts[int64(number)/size].runs[n] }); err != nil {
			return partition{}, err
		}
	}
	return newPartition(parts), nil
}

// divideSide gives the rows of a side to the runs of their numbers.
func (j *join) divideSide(n int, x *index, to func(number uint32) *run) error {
	in, b := j.inputs[n], j.batch
	rows := in.readAll(0)
	defer rows.close()
	last := make([]uint32, batchRows)
	for number := int64(0); ; {
		c, err := rows.chunk()
		if c == nil || err != nil {
			return err
		}
		for from := 0; from < c.Rows(); from += batchRows {
			b.read(j.keyer, c, from, min(from+batchRows, c.Rows()), in.keys)
			x.findAll(b, last)
			for i, k := range b.keys {
				if last[i] == 0 {
					continue
				}
				j.buffer = beginRecord(j.buffer[:0], k, true)
				if in.kind == report.Full {
					j.buffer = binary.LittleEndian.AppendUint64(j.buffer, uint64(number+int64(from+i)))
				}
				if j.buffer, err = endRecord(in.appendCells(j.buffer, c, from+i)); err != nil {
					return in.failed(err)
				}
				for at := last[i]; at != 0; at = x.next(at) {
					j.buffer.setLink(at - 1)
					if err := to(at - 1).add(j.buffer); err != nil {
						return err
					}
				}
			}
		}
		number += int64(c.Rows())
	}
}
