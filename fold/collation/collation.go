package collation

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Collation compares texts. Nil compares their bytes, without padding. It is safe for concurrent use.
type Collation struct {
	name  string
	pads  bool
	ready func() *table // nil: it compares bytes, whose order is that of the characters
	why   string        // it cannot compare
	meet  []*Collation  // the ones that compare, of texts of several
}

// known are the collations that compare, by name.
var known = func() map[string]*Collation {
	all := map[string]*Collation{}
	for _, c := range []*Collation{
		{name: "binary"}, {name: "utf8mb4_nopad_bin"}, {name: "utf8mb4_0900_bin"}, {name: "utf8mb4_bin", pads: true},
		{name: "latin1_bin", pads: true}, {name: "ascii_bin", pads: true},
		{name: "latin1_nopad_bin"}, {name: "ascii_nopad_bin"},
	} {
		all[c.name] = c
	}
	for _, name := range Weighted {
		load := sync.OnceValue(func() *table { return read(name) })
		all[name] = &Collation{name: name, pads: !strings.Contains(name, "_0900_"), ready: load}
		if all[name].pads && strings.HasPrefix(name, "utf8mb4_") { // MariaDB also has it without padding
			nopad := strings.Replace(strings.Replace(name, "_ci", "_nopad_ci", 1), "_ai_nopad", "_nopad_ai", 1)
			all[nopad] = &Collation{name: nopad, ready: load}
		}
	}
	return all
}()

// Weighted are the collations whose weights are stored.
var Weighted = []string{
	"utf8mb4_general_ci", "utf8mb4_unicode_ci", "utf8mb4_unicode_520_ci", "utf8mb4_uca1400_ai_ci",
	"utf8mb4_0900_ai_ci", "latin1_swedish_ci",
}

// Named returns a collation by its name on a server. One that Fanfold does not know cannot compare; Why says so. An
// empty name is nil. Equal names give the same pointer.
func Named(name string) *Collation {
	name = strings.ToLower(name)
	if name == "" {
		return nil
	}
	for _, old := range []string{"utf8mb3_", "utf8_"} {
		if rest, is := strings.CutPrefix(name, old); is {
			name = "utf8mb4_" + rest
		}
	}
	if strings.HasPrefix(name, "uca1400_") {
		name = "utf8mb4_" + name
	}
	if c, ok := known[name]; ok {
		return c
	}
	return unable(name, "Fanfold does not know the collation "+name)
}

// unable returns a collation that cannot compare.
func unable(name, why string, meet ...*Collation) *Collation {
	c, _ := others.LoadOrStore(name, &Collation{name: name, why: why, meet: meet})
	return c.(*Collation)
}

// others are the collations that cannot compare, by name.
var others sync.Map

// Mixed returns the collation of a text that is made of texts of two: it cannot compare.
func Mixed(a, b *Collation) *Collation {
	name := a.Name() + " and " + b.Name()
	return unable(name, "texts of the collations "+name+" meet", append(a.Comparing(), b.Comparing()...)...)
}

// Comparing returns the collation if it compares, or of those that meet in it the ones that do.
func (c *Collation) Comparing() []*Collation {
	if c.Why() != "" {
		return slices.Clone(c.meet)
	}
	return []*Collation{c}
}

// Name returns the name of the collation.
func (c *Collation) Name() string {
	if c == nil {
		return "binary"
	}
	return c.name
}

// Why says why the collation cannot compare; empty: it can.
func (c *Collation) Why() string {
	if c == nil {
		return ""
	}
	return c.why
}

// ComparesBytes tells whether texts are equal only if their bytes are, but for spaces at the end.
func (c *Collation) ComparesBytes() bool { return c == nil || c.ready == nil && c.why == "" }

// Exact tells whether texts are equal only if their bytes are.
func (c *Collation) Exact() bool { return c.ComparesBytes() && (c == nil || !c.pads) }

// Compare returns the order of two texts.
func (c *Collation) Compare(a, b []byte) int {
	switch {
	case c == nil || c.ready == nil && !c.pads:
		return bytes.Compare(a, b)
	case bytes.Equal(a, b):
		return 0
	}
	x, y := c.scan(a), c.scan(b)
	for {
		l, moreA := x.next()
		r, moreB := y.next()
		switch {
		case !moreA && !moreB:
			return 0
		case !c.pads && !moreA:
			return -1
		case !c.pads && !moreB:
			return 1
		case !moreA:
			l = x.space
		case !moreB:
			r = y.space
		}
		if l != r {
			if l < r {
				return -1
			}
			return 1
		}
	}
}

// Equal tells whether two texts are equal without padding, as the functions that search a text do.
func (c *Collation) Equal(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if c == nil || c.ready == nil {
		return false
	}
	x, y := c.scan(a), c.scan(b)
	for {
		l, moreA := x.next()
		r, moreB := y.next()
		if moreA != moreB || l != r {
			return false
		}
		if !moreA {
			return true
		}
	}
}

// EqualRunes tells whether two characters are equal for LIKE, which compares one by one. In utf8mb4_unicode_ci, those
// beyond U+FFFF share a weight, but LIKE tells them apart.
func (c *Collation) EqualRunes(a, b rune) bool {
	if a == b || c == nil || c.ready == nil || a > 0xFFFF && strings.HasPrefix(c.name, "utf8mb4_unicode_") {
		return a == b
	}
	t := c.ready()
	x, y := t.find(a), t.find(b)
	n := x.count()
	if n != y.count() {
		return false
	}
	for i := range n {
		if t.weight(x, a, i) != t.weight(y, b, i) {
			return false
		}
	}
	return true
}

// AppendKey appends a key of a text: keys are equal if and only if the texts are, their order is that of the texts,
// and none is the beginning of another.
func (c *Collation) AppendKey(dst, text []byte) []byte {
	switch {
	case c == nil || c.ready == nil && !c.pads:
		return appendBytesKey(dst, text)
	case c.pads:
		return c.appendPaddedKey(dst, text)
	}
	s := c.scan(text)
	for w, more := s.next(); more; w, more = s.next() {
		dst = append(dst, byte(w>>8), byte(w))
	}
	return append(dst, 0, 0) // no weight is 0
}

// AppendEqual appends a key as AppendKey does, but one whose order has no meaning: it is shorter.
func (c *Collation) AppendEqual(dst, text []byte) []byte {
	if c.ComparesBytes() {
		if c != nil && c.pads {
			text = bytes.TrimRight(text, " ")
		}
		return appendBytesKey(dst, text)
	}
	return c.AppendKey(dst, text)
}

// appendBytesKey makes 0 of a text 0 1; the end is 0 0.
func appendBytesKey(dst, text []byte) []byte {
	if bytes.IndexByte(text, 0) < 0 {
		return append(append(dst, text...), 0, 0)
	}
	for _, b := range text {
		if dst = append(dst, b); b == 0 {
			dst = append(dst, 1)
		}
	}
	return append(dst, 0, 0)
}

// segment is the number of weights before each mark of a padded key.
const segment = 8

// Marks of a padded key: how the rest of the text compares with spaces without end.
const (
	restLess    = 1
	restEqual   = 2 // the end
	restGreater = 3
)

// appendPaddedKey appends the weights in segments, the last one filled with spaces, and a mark after each. With the
// marks, the order of the keys is that of the texts with spaces without end, as in the keys of MyRocks (rocksdb
// datadic.cc, "space-padded, variable-length" format).
func (c *Collation) appendPaddedKey(dst, text []byte) []byte {
	s := c.scan(text)
	w, more := s.next()
	for {
		for range segment {
			if !more {
				w = s.space
			}
			if dst = append(dst, byte(w>>8), byte(w)); more {
				w, more = s.next()
			}
		}
		rest, v := s, w
		for left := more; ; {
			switch {
			case !left:
				return append(dst, restEqual)
			case v == s.space:
				v, left = rest.next()
				continue
			case v < s.space:
				dst = append(dst, restLess)
			default:
				dst = append(dst, restGreater)
			}
			break
		}
	}
}

// scanner yields the weights of a text.
type scanner struct {
	t     *table // nil: bytes
	text  []byte
	space uint16
	entry entry // of the character whose weights come
	char  rune
	at    int // of its next weight
}

func (c *Collation) scan(text []byte) scanner {
	if c.ready == nil {
		return scanner{text: text, space: ' '}
	}
	t := c.ready()
	return scanner{t: t, text: text, space: t.space}
}

// next returns the next weight; false: the text ends.
func (s *scanner) next() (uint16, bool) {
	for s.at >= s.entry.count() {
		if len(s.text) == 0 {
			return 0, false
		}
		first := s.text[0]
		switch {
		case s.t == nil:
			s.text = s.text[1:]
			return uint16(first), true
		case first < utf8.RuneSelf && s.t.ascii[first] != 0:
			s.text = s.text[1:]
			return s.t.ascii[first], true
		}
		var size int
		s.char, size = utf8.DecodeRune(s.text)
		s.entry, s.at = s.t.find(s.char), 0
		s.text = s.text[size:]
		if s.entry.begins() {
			if e, length := s.t.contraction(s.char, s.text); length > 0 {
				s.entry, s.text = e, s.text[length:]
			}
		}
	}
	w := s.t.weight(s.entry, s.char, s.at)
	s.at++
	return w, true
}

// Names returns the names of the collations that compare, sorted.
func Names() []string { return slices.Sorted(maps.Keys(known)) }
