package expr

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/fanfold/fanfold/fold/parse"
	"github.com/fanfold/fanfold/fold/value"
)

// word is the size of a number in a state.
const word = 8

func wordOf(state []byte) int64        { return int64(binary.LittleEndian.Uint64(state)) }
func setWord(state []byte, n int64)    { binary.LittleEndian.PutUint64(state, uint64(n)) }
func floatOf(state []byte) float64     { return math.Float64frombits(uint64(wordOf(state))) }
func setFloat(state []byte, f float64) { setWord(state, int64(math.Float64bits(f))) }

// beside is what states hold besides their bytes. A state has the number of its own, from 1 on.
type beside[T any] []T

// of returns what a state holds; nil: nothing yet.
func (b *beside[T]) of(state []byte) *T {
	if n := wordOf(state); n != 0 {
		return &(*b)[n-1]
	}
	return nil
}

// begin makes a state hold something.
func (b *beside[T]) begin(state []byte, first T) *T {
	*b = append(*b, first)
	setWord(state, int64(len(*b)))
	return &(*b)[len(*b)-1]
}

// counts are the states of COUNT: a number.
type counts struct{ args []*Expr }

func (counts) Bytes() int { return word }

func (c counts) Add(state []byte, row [][]byte) (int, error) {
	for _, e := range c.args {
		if v, err := e.Eval(row); err != nil || v.IsNull() {
			return 0, err
		}
	}
	setWord(state, wordOf(state)+1)
	return 0, nil
}

func (counts) Value(state []byte) (value.Value, error) { return value.OfInt(wordOf(state)), nil }

// floatSums are the states of a sum of doubles, in the order of the rows: their number and the sum.
type floatSums struct {
	x      *Expr
	result func(sum value.Value, n int64) (value.Value, error)
}

func (floatSums) Bytes() int { return 2 * word }

func (s floatSums) Add(state []byte, row [][]byte) (int, error) {
	v, err := s.x.eval(row)
	if err != nil || v.IsNull() {
		return 0, parse.FailedAt(s.x.at, err)
	}
	setWord(state, wordOf(state)+1)
	setFloat(state[word:], value.OfFloat(floatOf(state[word:])+v.ToFloat()).Float)
	return 0, nil
}

func (s floatSums) Value(state []byte) (value.Value, error) {
	n := wordOf(state)
	if n == 0 {
		return value.Value{}, nil
	}
	return s.result(value.OfFloat(floatOf(state[word:])), n)
}

// sums are the states of an exact sum: the number of values with the scale of the sum in its last bits, and the
// coefficient of the sum. A wide sum is held beside the state.
type sums struct {
	x      *Expr
	result func(sum value.Value, n int64) (value.Value, error)
	wide   beside[value.Dec]
}

const (
	scaleBits = 12 // more than the scale of any sum needs
	isWide    = 1<<scaleBits - 1
	wideBytes = 128
)

func (*sums) Bytes() int { return 2 * word }

func (s *sums) Add(state []byte, row [][]byte) (held int, err error) {
	v, err := s.x.eval(row)
	if err != nil || v.IsNull() {
		return 0, parse.FailedAt(s.x.at, err)
	}
	d, head, at := v.ToDec(), wordOf(state), state[word:]
	if head&isWide == isWide {
		sum := s.wide.of(at)
		*sum = sum.Add(d)
		setWord(state, head+1<<scaleBits)
		return 0, nil
	}
	if head != 0 {
		d = value.DecOfSmall(wordOf(at), int(head&isWide)).Add(d)
	}
	small, ok := value.SmallOf(d)
	head = head>>scaleBits + 1
	if ok && d.Scale < isWide {
		setWord(state, head<<scaleBits|int64(d.Scale))
		setWord(at, small)
		return 0, nil
	}
	s.wide.begin(at, d)
	setWord(state, head<<scaleBits|isWide)
	return wideBytes, nil
}

func (s *sums) Value(state []byte) (value.Value, error) {
	head, at := wordOf(state), state[word:]
	switch {
	case head == 0:
		return value.Value{}, nil
	case head&isWide == isWide:
		return s.result(value.OfDec(*s.wide.of(at)), head>>scaleBits)
	}
	return s.result(value.OfDec(value.DecOfSmall(wordOf(at), int(head&isWide))), head>>scaleBits)
}

// extremes are the states of MIN and MAX: the number of the best value, its kind and its scale. A best value that is
// no number is held beside the state.
type extremes struct {
	x     *Expr
	want  int
	other beside[value.Value]
}

// The byte of a state with the kind.
const (
	kindAt     = word
	isUnsigned = 0x80
	isOther    = 0x40
)

func (*extremes) Bytes() int { return word + 2 }

func (e *extremes) Add(state []byte, row [][]byte) (held int, err error) {
	v, err := e.x.Eval(row)
	if err != nil || v.IsNull() {
		return 0, err
	}
	switch {
	case state[kindAt]&isOther != 0:
		best := e.other.of(state)
		if value.Compare(v, *best) == e.want {
			held = len(v.Bytes) - len(best.Bytes)
			v.Bytes = append(best.Bytes[:0], v.Bytes...)
			*best = v
		}
		return max(held, 0), nil
	case state[kindAt] == byte(v.Kind) && (v.Kind == value.Integer && !v.Unsigned || v.Kind.IsTemporal()):
		if cmp.Compare(v.Int, wordOf(state)) == e.want {
			setWord(state, v.Int)
		}
		return 0, nil
	case state[kindAt] != 0 && value.Compare(v, e.best(state)) != e.want:
		return 0, nil
	}
	return e.set(state, v), nil
}

// best returns the best value of a state that is a number.
func (e *extremes) best(state []byte) value.Value {
	v := value.Value{Kind: value.Kind(state[kindAt] &^ isUnsigned), Unsigned: state[kindAt]&isUnsigned != 0}
	switch v.Kind {
	case value.Double:
		v.Float = floatOf(state)
	case value.Decimal:
		v.Dec = value.DecOfSmall(wordOf(state), int(state[kindAt+1]))
	default:
		v.Int = wordOf(state)
	}
	return v
}

// set makes a value the best one of a state that had none, or a number.
func (e *extremes) set(state []byte, v value.Value) (held int) {
	state[kindAt] = byte(v.Kind)
	if v.Unsigned {
		state[kindAt] |= isUnsigned
	}
	small, ok := value.SmallOf(v.Dec)
	switch {
	case v.Kind == value.Double:
		setFloat(state, v.Float)
	case v.Kind == value.Decimal && ok && v.Dec.Scale <= math.MaxUint8:
		setWord(state, small)
		state[kindAt+1] = byte(v.Dec.Scale)
	case v.Kind == value.Integer || v.Kind.IsTemporal():
		setWord(state, v.Int)
	default:
		state[kindAt] = isOther
		v.Bytes = bytes.Clone(v.Bytes)
		e.other.begin(state, v)
		return wideBytes + len(v.Bytes)
	}
	return 0
}

func (e *extremes) Value(state []byte) (value.Value, error) {
	switch {
	case state[kindAt] == 0:
		return value.Value{}, nil
	case state[kindAt]&isOther != 0:
		return *e.other.of(state), nil
	}
	return e.best(state), nil
}

// Distinct are the states of an aggregate that takes every combination of values of a group once: the set of those that
// it has taken, and the state of the aggregate.
type Distinct struct {
	States
	args []*Expr
	seen beside[map[string]struct{}]
	key  []byte
}

// Bytes implements States.
func (d *Distinct) Bytes() int { return word + d.States.Bytes() }

// Add implements States.
func (d *Distinct) Add(state []byte, row [][]byte) (held int, err error) {
	err = d.AddKnown(state, row, func(value []byte) (err error) {
		seen := d.seen.of(state)
		if seen == nil {
			seen = d.seen.begin(state, map[string]struct{}{})
			held = wideBytes
		}
		(*seen)[string(value)] = struct{}{}
		more, err := d.AddLater(state, row)
		held += more + len(value) + 32
		return err
	})
	return held, err
}

// AddKnown adds a row to a state. Values that it has not seen are passed to other instead.
func (d *Distinct) AddKnown(state []byte, row [][]byte, other func(value []byte) error) error {
	d.key = d.key[:0]
	for _, e := range d.args {
		v, err := e.Eval(row)
		if err != nil || v.IsNull() {
			return err
		}
		d.key = v.AppendKey(d.key)
	}
	if seen := d.seen.of(state); seen != nil {
		if _, is := (*seen)[string(d.key)]; is {
			return nil
		}
	}
	return other(d.key)
}

// AddLater adds a row with a value that AddKnown has passed on.
func (d *Distinct) AddLater(state []byte, row [][]byte) (held int, err error) {
	return d.States.Add(state[word:], row)
}

// Value implements States.
func (d *Distinct) Value(state []byte) (value.Value, error) { return d.States.Value(state[word:]) }

// concats are the states of GROUP_CONCAT, which are held beside.
type concats struct {
	at           parse.Position
	t            value.Type
	args, orders []*Expr
	desc         []bool
	separator    string
	distinct     bool
	all          beside[concatTexts]
}

// concatTexts are the texts of a group.
type concatTexts struct {
	seen   map[string]struct{}
	parts  []concatPart
	length int // of the text
}

type concatPart struct{ key, text []byte }

func (*concats) Bytes() int { return word }

func (c *concats) Add(state []byte, row [][]byte) (held int, err error) {
	var p concatPart
	var key []byte
	for _, e := range c.args {
		v, err := e.Eval(row)
		if err != nil || v.IsNull() {
			return 0, err
		}
		p.text = append(p.text, textOf(v, e)...)
		if c.distinct {
			key = v.AppendKey(key)
		}
	}
	of := c.all.of(state)
	if of == nil {
		of = c.all.begin(state, concatTexts{})
		if held = wideBytes; c.distinct {
			of.seen = map[string]struct{}{}
		}
	}
	if c.distinct {
		if _, seen := of.seen[string(key)]; seen {
			return held, nil
		}
		of.seen[string(key)] = struct{}{}
	}
	for i, e := range c.orders {
		v, err := e.Eval(row)
		if err != nil {
			return held, err
		}
		p.key = AppendOrder(p.key, v, c.desc[i])
	}
	if len(of.parts) > 0 {
		of.length += len(c.separator)
	}
	if of.length += len(p.text); of.length > maxConcat {
		return held, parse.FailedAt(c.at, fmt.Errorf(
			"a GROUP_CONCAT is larger than %d bytes: concatenate less, or group by more columns", maxConcat))
	}
	of.parts = append(of.parts, p)
	return held + 2*len(p.text) + len(p.key) + 2*len(key) + len(c.separator) + 128, nil
}

func (c *concats) Value(state []byte) (value.Value, error) {
	of := c.all.of(state)
	if of == nil {
		return value.Value{}, nil
	}
	slices.SortStableFunc(of.parts, func(a, b concatPart) int { return bytes.Compare(a.key, b.key) })
	texts := make([][]byte, len(of.parts))
	for i, p := range of.parts {
		texts[i] = p.text
	}
	return value.Value{Kind: c.t.Kind, Bytes: bytes.Join(texts, []byte(c.separator))}, nil
}
