package query

import (
	"slices"

	"github.com/fanfold/fanfold/fold/expr"
	"github.com/fanfold/fanfold/fold/op"
	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/fold/value"
)

// chains finds keys that a row has before it is joined. In
//
//	a FULL JOIN b ON b.k = a.k FULL JOIN c ON c.k = COALESCE(a.k, b.k)
//
// the COALESCE is the key of the first table with a row, the origin: if that key is NULL, the row matches nothing, and
// the keys after it are NULL, too. A chain has one column for every table that can be an origin.
type chains struct{ *selecting }

// origins returns the tables before table n that can be the first one with a row.
func (b *selecting) origins(n int) []int {
	all := []int{0}
	for i, t := range b.tables[1:n] {
		if t.join.Kind == parse.Full || t.join.Kind == parse.Right {
			all = append(all, i+1)
		}
	}
	return all
}

// of returns the columns of the joined rows that are the chain of the left side of an equality of table n; nil: it is
// no chain.
func (b chains) of(left parse.Expr, n int) []int {
	args := []parse.Expr{left}
	if call, ok := left.(*parse.Call); ok && (call.Name == "COALESCE" || call.Name == "IFNULL" || call.Name == "NVL") {
		args = call.Args
	}
	origins := b.origins(n)
	if len(args) != len(origins) {
		return nil
	}
	var chain []int
	for i, arg := range args {
		c, ok := arg.(*parse.Column)
		if !ok {
			return nil
		}
		column := must(b.scope.Find(c))
		if b.tableWith(column) != origins[i] || i > 0 && !b.continues(chain, column, origins[i]) {
			return nil
		}
		chain = append(chain, column)
	}
	return chain
}

// continues tells whether a table was joined on a chain and this column of it.
func (b chains) continues(chain []int, column, table int) bool {
	return slices.ContainsFunc(b.tables[table].join.equal, func(e equality) bool {
		c, ok := e.right.(*parse.Column)
		return ok && must(b.scope.Find(c)) == column && slices.Equal(e.chain, chain)
	})
}

// key returns the number of the key of table n: that of earlier tables if all look up the same values.
func (b chains) key(n int) int {
	for key := 0; ; key++ {
		same, is := 0, 0
		for _, other := range b.tables[1:n] {
			if other.join.key == key {
				is++
				if b.sameKey(other.join.equal, b.tables[n].join.equal) {
					same++
				}
			}
		}
		if same == is {
			return key
		}
	}
}

// sameKey tells whether the equalities of two tables look up the same values. Only origins before the first one are
// looked up in both.
func (b chains) sameKey(first, second []equality) bool {
	return slices.EqualFunc(first, second, func(x, y equality) bool {
		if x.Comparison != y.Comparison || (x.chain == nil) != (y.chain == nil) {
			return false
		}
		if x.chain == nil {
			return sameText(x.left, y.left)
		}
		return slices.Equal(x.chain, y.chain[:min(len(x.chain), len(y.chain))]) &&
			(x.leftType == y.leftType || x.leftType.Kind == value.Integer && y.leftType.Kind == value.Integer)
	})
}

// keyTerms compute a key from a row, for one goroutine.
type keyTerms struct {
	all     []*expr.Expr
	by      []expr.Comparison
	buffer  []byte // of the last key; never nil
	integer int    // the column of the row that is the whole key, an integer; -1: none
}

// add adds a side of an equality.
func (k *keyTerms) add(side *expr.Expr, e equality) {
	k.all, k.by = append(k.all, side), append(k.by, e.Comparison)
	k.buffer, k.integer = []byte{}, -1
	if column, ok := side.Column(); ok && len(k.all) == 1 && e.Kind == value.Integer {
		k.integer = column
	}
}

// key returns the key of a row, valid until the next call; false: a part of it is NULL.
func (k *keyTerms) key(row op.Row) (op.Key, bool, error) {
	if k.integer >= 0 {
		if n, ok := value.PlainInteger(row[k.integer]); ok {
			return op.IntKey(n), true, nil
		}
	}
	dst := k.buffer[:0]
	for i, e := range k.all {
		v, err := e.Eval(row)
		if err != nil {
			return op.Key{}, false, err
		}
		if v = k.by[i].Of(v); v.IsNull() {
			return op.Key{}, false, nil
		}
		switch {
		case len(k.all) == 1 && v.Kind == value.Integer && !v.Unsigned:
			return op.IntKey(v.Int), true, nil
		case v.Kind.IsText():
			dst = v.Collation.AppendEqual(dst, v.Bytes)
		default:
			dst = v.AppendKey(dst)
		}
	}
	k.buffer = dst
	return op.TextKey(dst), true, nil
}
