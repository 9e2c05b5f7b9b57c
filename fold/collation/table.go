package collation

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"
)

// weights are the tables of all collations in Weighted: see Table.Append.
//
//go:embed weights.zst
var weights []byte

// entry says where the weights of a character lie: in the low 24 bits their offset, above them their number, and
// whether contractions begin with the character. The weights of an implicit one are computed.
type entry uint32

const (
	entryBegins   entry = 1 << 31
	entryImplicit entry = 1 << 30
)

func (e entry) begins() bool { return e&entryBegins != 0 }

func (e entry) count() int {
	if e&entryImplicit != 0 {
		return 2
	}
	return int(e >> 24 & 0x3F)
}

// page has the entries of 256 characters.
type page [256]entry

// table has the weights of a collation.
type table struct {
	pages        [utf8.MaxRune/256 + 1]*page
	weights      []uint16
	contractions map[string]entry
	longest      int         // bytes of a contraction
	ascii        [128]uint16 // of characters with one weight that begin no contraction; others 0
	space        uint16
}

func (t *table) find(char rune) entry { return t.pages[char>>8][char&0xFF] }

// weight returns a weight of a character. Those of a character without a place in the order are two, of its number.
func (t *table) weight(e entry, char rune, i int) uint16 {
	if e&entryImplicit == 0 {
		return t.weights[int(e&0xFFFFFF)+i]
	}
	if i == 0 {
		return uint16(e&0xFFFF) + uint16(char>>15)
	}
	return uint16(char&0x7FFF) | 0x8000
}

// contraction returns the longest contraction of a character and the text after it, and how much of the text it takes.
func (t *table) contraction(char rune, rest []byte) (entry, int) {
	var buffer [16]byte
	head := utf8.AppendRune(buffer[:0], char)
	text := append(head, rest[:min(len(rest), t.longest-len(head))]...)
	for n := len(text); n > len(head); n-- {
		if e, ok := t.contractions[string(text[:n])]; ok {
			return e, n - len(head)
		}
	}
	return 0, 0
}

// Weights are those of one character, or of a contraction.
type Weights struct {
	Text    string
	Weights []uint16
}

// Append appends the table of a collation in the form of weights.zst. single has the weights of every character, in
// order; contractions those of the sequences that differ from them. Runs of implicit weights are one entry, and the
// others are differences to the weight before, because those compress well.
func Append(dst []byte, name string, single, contractions []Weights) []byte {
	last := int64(0)
	put := func(all []uint16) {
		dst = append(dst, byte(len(all)))
		for _, w := range all {
			dst = binary.AppendVarint(dst, int64(w)-last)
			last = int64(w)
		}
	}
	dst = append(append(dst, byte(len(name))), name...)
	dst = binary.AppendUvarint(dst, uint64(len(contractions)))
	for _, c := range contractions {
		dst = append(append(dst, byte(len(c.Text))), c.Text...)
		put(c.Weights)
	}
	for i := 0; i < len(single); {
		base, n := implicit(single[i]), 1
		for i+n < len(single) && implicit(single[i+n]) == base && base != 0 {
			n++
		}
		if base == 0 {
			for i+n < len(single) && equal(single[i+n].Weights, single[i].Weights) {
				n++
			}
			dst = append(dst, 0)
			put(single[i].Weights)
		} else {
			dst = binary.AppendUvarint(append(dst, 1), uint64(base))
		}
		dst = binary.AppendUvarint(dst, uint64(n))
		i += n
	}
	return append(dst, 2)
}

func equal(a, b []uint16) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// implicit returns the first weight of the first character with the same kind of implicit weights; 0: others.
func implicit(w Weights) uint16 {
	char, _ := utf8.DecodeRuneInString(w.Text)
	if len(w.Weights) != 2 || w.Weights[1] != uint16(char&0x7FFF)|0x8000 {
		return 0
	}
	return w.Weights[0] - uint16(char>>15)
}

// read returns the table of a collation. Weights.zst is a part of the program, so a mistake in it is a panic.
func read(name string) *table {
	r, err := zstd.NewReader(bytes.NewReader(weights), zstd.WithDecoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	defer r.Close()
	all, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	d := &decoder{rest: all}
	for len(d.rest) > 0 {
		found := d.text()
		if t := d.table(); found == name {
			return t
		}
	}
	panic("weights.zst has no table of " + name)
}

// decoder reads what Append wrote.
type decoder struct {
	rest []byte
	last int64
}

func (d *decoder) byte() byte {
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *decoder) uint() int {
	n, size := binary.Uvarint(d.rest)
	d.rest = d.rest[size:]
	return int(n)
}

func (d *decoder) text() string {
	n := int(d.byte())
	text := string(d.rest[:n])
	d.rest = d.rest[n:]
	return text
}

func (d *decoder) weights(t *table) entry {
	n := int(d.byte())
	e := entry(n)<<24 | entry(len(t.weights))
	for range n {
		by, size := binary.Varint(d.rest)
		d.rest = d.rest[size:]
		d.last += by
		t.weights = append(t.weights, uint16(d.last))
	}
	return e
}

func (d *decoder) table() *table {
	t := &table{contractions: map[string]entry{}}
	d.last = 0
	heads := map[rune]bool{}
	for range d.uint() {
		text := d.text()
		head, _ := utf8.DecodeRuneInString(text)
		heads[head] = true
		t.contractions[text] = d.weights(t)
		t.longest = max(t.longest, len(text))
	}
	char, shared := rune(0), map[entry]*page{}
	for kind := d.byte(); kind != 2; kind = d.byte() {
		var e entry
		if kind == 1 {
			e = entryImplicit | entry(d.uint())
		} else {
			e = d.weights(t)
		}
		for n := d.uint(); n > 0; {
			if char&0xFF == 0 && n >= 256 { // a page of equal entries
				if shared[e] == nil {
					shared[e] = filled(e)
				}
				t.pages[char>>8] = shared[e]
				char, n = char+256, n-256
				continue
			}
			if t.pages[char>>8] == nil {
				t.pages[char>>8] = &page{}
			}
			t.pages[char>>8][char&0xFF] = e
			char, n = char+1, n-1
		}
	}
	for head := range heads {
		t.pages[head>>8][head&0xFF] |= entryBegins
	}
	for c := range t.ascii {
		if e := t.find(rune(c)); e.count() == 1 && !e.begins() {
			t.ascii[c] = t.weight(e, rune(c), 0)
		}
	}
	t.space = t.ascii[' ']
	return t
}

func filled(e entry) *page {
	p := &page{}
	for i := range p {
		p[i] = e
	}
	return p
}
