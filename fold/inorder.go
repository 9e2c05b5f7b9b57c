package fold

// inOrder calls f with the records of all runs, in the order of their words. Each
// run is in that order, and no word is in two of them.
func inOrder(runs []*run, f func(record) error) error {
	var heads []*head // a heap: none is behind those at 2i+1 and 2i+2
	for _, r := range runs {
		h := &head{cursor: r.cursor()}
		defer h.cursor.close()
		ok, err := h.advance()
		if err != nil {
			return err
		}
		if ok {
			heads = append(heads, h)
		}
	}
	for i := len(heads)/2 - 1; i >= 0; i-- {
		sift(heads, i)
	}
	for len(heads) > 0 {
		first := heads[0]
		r, err := first.cursor.next()
		if err != nil {
			return err
		}
		if err := f(r); err != nil {
			return err
		}
		ok, err := first.advance()
		if err != nil {
			return err
		}
		if !ok {
			heads[0] = heads[len(heads)-1]
			heads = heads[:len(heads)-1]
		}
		sift(heads, 0)
	}
	return nil
}

// head is a run with records that were not yet taken.
type head struct {
	cursor *runCursor
	word   uint64 // of the first of them
}

func (h *head) advance() (ok bool, err error) {
	h.word, ok, err = h.cursor.word()
	return ok, err
}

// sift moves a head behind those that come before it.
func sift(heads []*head, i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(heads); c++ {
			if heads[c].word < heads[least].word {
				least = c
			}
		}
		if least == i {
			return
		}
		heads[i], heads[least] = heads[least], heads[i]
		i = least
	}
}
