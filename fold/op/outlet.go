package op

// outlet passes records on as rows. Those of a large result go in batches to several goroutines, which make rows of
// them and do the work behind them.
type outlet struct {
	to    Output
	rows  func() func(r record) (Row, error) // for one more goroutine: makes the row of a record, valid until the next
	here  func(r record) (Row, error)
	batch *[]byte // from blockBuffers: records that wait; nil: none
	pool  *pool[*outletLane]
}

// outletLane is what one goroutine needs.
type outletLane struct {
	Lane
	row func(r record) (Row, error)
}

// passAll passes the records that each calls f with on to an Output, which it does not end. ErrEnough is an error, too.
func passAll(to Output, rows func() func(r record) (Row, error), each func(f func(r record) error) error) error {
	o := &outlet{to: to, rows: rows, here: rows()}
	add := o.addHere
	if _, ok := to.(Forker); ok {
		add = o.add
	}
	err := each(add)
	if err == nil {
		err = o.flush()
	}
	if o.pool != nil {
		if first := o.pool.wait(); first != nil {
			return first
		}
	}
	return err
}

// addHere passes a record on.
func (o *outlet) addHere(r record) error {
	row, err := o.here(r)
	if err != nil {
		return err
	}
	return o.to.Add(row)
}

// add adds a record to the batch.
func (o *outlet) add(r record) error {
	if o.batch == nil {
		o.batch = blockBuffers.Get().(*[]byte)
		*o.batch = (*o.batch)[:0]
	}
	*o.batch = appendPadded(*o.batch, r)
	if len(*o.batch) < blockBytes-pageBytes {
		return nil
	}
	if o.pool == nil && !o.fork() {
		return o.flush()
	}
	batch := o.batch
	o.batch = nil
	if !o.pool.do(func(l *outletLane, turn func() error) error {
		defer reuseBlock(batch)
		l.Begin(turn)
		return l.Flush(eachRecord(*batch, func(r record) error {
			row, err := l.row(r)
			if err != nil {
				return err
			}
			return l.Add(row)
		}))
	}) {
		return o.pool.wait()
	}
	return nil
}

// fork starts the pool; false: the work cannot be shared.
func (o *outlet) fork() bool {
	first, shared := NewLane(o.to)
	if !shared {
		return false
	}
	o.pool = newPool(func() *outletLane {
		lane := first
		if first = nil; lane == nil {
			lane, _ = NewLane(o.to)
		}
		return &outletLane{lane, o.rows()}
	})
	return true
}

// flush passes the batch on.
func (o *outlet) flush() error {
	if o.batch == nil {
		return nil
	}
	batch := o.batch
	o.batch = nil
	defer reuseBlock(batch)
	if o.pool != nil {
		if err := o.pool.wait(); err != nil {
			return err
		}
	}
	return eachRecord(*batch, o.addHere)
}
