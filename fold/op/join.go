package op

// Join joins tables in the order written, each with the rows of all before it. The rows are in the order of the first
// table, and for one row of it in that of the second, and so on. Rows of a table without a match follow all others, if
// its kind keeps them.
type Join struct {
	Tables []*Table
	// Terms returns the terms for one more goroutine.
	Terms  func() Terms
	Count  bool // the matches of all tables, whose keys then use the first table alone
	Serial bool // one goroutine is enough
}

// JoinKind says which rows a join has besides those that match.
type JoinKind struct {
	Left  bool // rows before it without a match, with NULLs
	Right bool // its own rows without a match, after all others
}

// Table is a dataset or a query that is joined.
type Table struct {
	Name  string // of the listener, in errors
	Set   Dataset
	Query func(to Output) error // instead of a Set; it has been filtered
	Kind  JoinKind
	Cells int // of a row
	// Columns are those to read, Kept those that joined rows have, and KeyColumns those that keys and the filter use:
	// only their cells are defined then. Kept has those of KeyColumns that keys of later tables use.
	Columns, Kept, KeyColumns []int

	Key         int  // tables with the same number are looked up by the same key
	Needs       int  // the last table that the key uses
	Filtered    bool // its Set is filtered
	Conditional bool // there are conditions besides the key
	CanFail     bool // Right or Keep can return errors
	// Sorted are a column of the first table and one of this one, both integers and the whole key; nil: the key is
	// another.
	Sorted *[2]int
}

// Terms are the expressions of a Join and what becomes of its rows. They are used by one goroutine at a time. A row
// has the cells of all tables, one after the other; those of tables that are not joined yet are undefined.
type Terms interface {
	// Left returns the key by which a row looks up table n; false: a part of it is NULL, which matches nothing.
	// origin is the first table with a row. The key is valid until the next call of the same n.
	Left(origin, n int, row Row) (Key, bool, error)
	// Right returns the key of a row of table n, which has the cells of that table alone.
	Right(n int, row Row) (Key, bool, error)
	// Keep tells whether a row of a filtered table is joined.
	Keep(n int, row Row) (bool, error)
	// Matches tells whether a row fulfils the conditions of table n besides the key.
	Matches(n int, row Row) (bool, error)
	// Lane takes the joined rows.
	Lane
}

// joining is one run of a Join.
type joining struct {
	*Join
	m     *Memory
	sides []*side // the first one has rows that are looked up
	at    []int   // by table: its first cell; then the number of all cells
	keys  int     // number of keys

	parallel bool // blocks of the first table are joined in parallel
}

// Run joins the tables. It reads all but the first into memory. Those that exceed the budget are merged if they and
// the first one are sorted by the key; otherwise their rows go through the scratch file. The first error of a dataset,
// the scratch file or the terms ends it. The errors of the terms for the rows of the first table are returned after
// all rows before.
func (j *Join) Run(m *Memory) (ran Joined, err error) {
	f := &joining{Join: j, m: m, sides: make([]*side, 0, len(j.Tables)), at: make([]int, 1, len(j.Tables)+1)}
	for _, t := range j.Tables {
		s := &side{Table: t}
		if t.Set != nil {
			s.from = t
		}
		f.sides = append(f.sides, s)
		f.at = append(f.at, f.at[len(f.at)-1]+t.Cells)
		f.keys = max(f.keys, t.Key+1)
	}
	defer f.close()
	w := f.newWorker(j.Terms())
	defer func() { batches.Put(w.batch) }()
	if err := f.readSides(w.terms); err != nil {
		return ran, err
	}
	defer func() { ran.Tables = f.ran(err == nil) }()
	for n, s := range f.sides {
		if n > 0 && !s.Kind.Right {
			continue
		}
		if err := f.join(w, s.origin(n, f.at)); err != nil {
			return ran, err
		}
	}
	return Joined{Matches: f.counted()}, nil
}

func (f *joining) close() {
	for _, s := range f.sides {
		if s.merged != nil {
			s.merged.rows.close()
		}
		if s.arena != nil {
			f.m.give(s.arena.used())
			s.arena.close()
		}
	}
}
