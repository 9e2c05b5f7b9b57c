package op

import "slices"

// fewBlocks are joined by one goroutine: most datasets have one chunk.
const fewBlocks = 2

// isParallel tells whether blocks can be joined in parallel: no side is merged, no side records which of its rows have
// a match, and no rows are stored.
func (f *joining) isParallel(g *segment, blocks int64) bool {
	return blocks > fewBlocks && !f.Serial && g.stored == nil && !slices.ContainsFunc(f.sides[1:],
		func(s *side) bool { return s.merged != nil || s.Kind.Right })
}

// addBlocks joins the rows of the blocks [from, to) of the segment. It numbers the rows from 0.
func (w *worker) addBlocks(from, to int64) (err error) {
	g := w.segment
	if g.pool == nil && w.isParallel(g, to-from) {
		if err := w.terms.Flush(nil); err != nil {
			return err
		}
		w.parallel = true
		g.pool = newPool(func() *worker {
			other := w.newWorker(w.Terms())
			other.begin(g)
			return other
		})
	}
	if g.pool != nil {
		defer func() {
			if first := g.pool.wait(); first != nil {
				err = first
			}
		}()
	}
	number := int64(0)
	for b, err := range each(g.rows, w.sides[g.origin].Columns, from) {
		if err != nil {
			return err
		}
		if more, err := w.addBlock(b, number); !more || err != nil {
			return err
		}
		number += int64(b.rows())
		if from++; from == to {
			break
		}
	}
	return nil
}

// addBlock joins the rows of a block. The first row has this number. False means that the pool
// has failed.
func (w *worker) addBlock(b block, number int64) (more bool, err error) {
	for from := 0; from < b.rows(); {
		to := b.rows()
		if w.parts != nil {
			rows, err := w.parts.load(w, number+int64(from))
			if err != nil {
				return false, err
			}
			to = from + int(min(int64(to-from), rows))
		}
		if w.pool == nil {
			if err := w.addRows(b, from, to, number); err != nil {
				return false, err
			}
		} else if !w.addParallel(b, from, to, number) {
			return false, nil
		}
		from = to
	}
	return true, nil
}

// addParallel joins rows of a block in the pool.
func (w *worker) addParallel(b block, from, to int, number int64) bool {
	loaded := w.loaded
	loaded.begin()
	return w.pool.do(func(o *worker, turn func() error) error {
		defer loaded.end()
		o.loaded = loaded
		o.terms.Begin(turn)
		return o.terms.Flush(o.addRows(b, from, to, number))
	})
}
