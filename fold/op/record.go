package op

import (
	"encoding/binary"
	"errors"
	"hash/maphash"
	"math/rand/v2"
)

// record is an encoded row, in memory or in a scratch file:
//
//	word  8 bytes  an integer key, or the hash of any other key
//	link  4 bytes  in memory: ref of the next row of the same key or number;
//	               in a run: number of the row that it may match
//	size  4 bytes  size of the whole record, and flags
//	key            length (4 bytes) and key; only if flagTextKey is set
//	row            cells, see appendCell
type record []byte

const (
	recordHead = 16

	flagTextKey = 1 << 31
	flagNoKey   = 1 << 30 // a part of the key is null: it matches no row
	flagMatched = 1 << 29 // a row of an earlier listener matches it
	sizeMask    = flagMatched - 1
)

var errLargeRow = errors.New("a row is larger than 512 MB")

func (r record) word() uint64      { return binary.LittleEndian.Uint64(r) }
func (r record) link() uint32      { return binary.LittleEndian.Uint32(r[8:]) }
func (r record) setLink(to uint32) { binary.LittleEndian.PutUint32(r[8:], to) }
func (r record) flags() uint32     { return binary.LittleEndian.Uint32(r[12:]) }
func (r record) setFlag(f uint32)  { binary.LittleEndian.PutUint32(r[12:], r.flags()|f) }
func (r record) has(f uint32) bool { return r.flags()&f != 0 }
func (r record) size() int         { return int(r.flags() & sizeMask) }
func (r record) key() Key          { return Key{r.word(), r.text()} }
func (r record) is(k Key) bool     { return r.key().Equal(k) }

// text returns the key, or nil if it is an integer.
func (r record) text() []byte {
	if !r.has(flagTextKey) {
		return nil
	}
	return r[recordHead+4 : recordHead+4+binary.LittleEndian.Uint32(r[recordHead:])]
}

// row returns the encoded cells; never nil.
func (r record) row() []byte {
	from := recordHead
	if r.has(flagTextKey) {
		from += 4 + int(binary.LittleEndian.Uint32(r[recordHead:]))
	}
	return r[from:r.size()]
}

// A record can have the number of its row before the cells.
const numberBytes = 8

func (r record) number() int64 { return int64(binary.LittleEndian.Uint64(r.row())) }

// cells returns the encoded cells of a record that has the number of its row.
func (r record) cells() []byte { return r.row()[numberBytes:] }

// beginRecord appends the head and the key of a record; the caller appends the row.
func beginRecord(dst []byte, k Key, hasKey bool) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, k.word)
	dst = append(dst, 0, 0, 0, 0)
	switch {
	case !hasKey:
		return binary.LittleEndian.AppendUint32(dst, flagNoKey)
	case k.text == nil:
		return append(dst, 0, 0, 0, 0)
	}
	dst = binary.LittleEndian.AppendUint32(dst, flagTextKey)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(k.text)))
	return append(dst, k.text...)
}

// endRecord sets the size.
func endRecord(r record) (record, error) {
	if len(r) > sizeMask {
		return nil, errLargeRow
	}
	r.setFlag(uint32(len(r)))
	return r, nil
}

// Key is the canonical key of a row: keys are equal if and only if both fields are equal.
type Key struct {
	word uint64
	text []byte // nil, not empty: word is the key, an integer
}

// Equal tells whether two keys are equal.
func (k Key) Equal(other Key) bool {
	return k.word == other.word && (k.text == nil) == (other.text == nil) && string(k.text) == string(other.text)
}

// IntKey returns the key of an integer.
func IntKey(n int64) Key { return Key{word: uint64(n)} }

// TextKey returns the key of any other value; text is not nil, and must not change while the key is used.
func TextKey(text []byte) Key { return Key{maphash.Bytes(hashSeed, text), text} }

// hash spreads the word over 64 bits: adjacent integers get distant hashes, and a user cannot
// choose keys that collide.
func (k Key) hash() uint64 {
	x := k.word ^ hashSecret
	x = (x ^ x>>32) * 0x9e3779b97f4a7c15
	x = (x ^ x>>29) * 0xd6e8feb86659fd93
	return x ^ x>>32
}

var (
	hashSecret = rand.Uint64()
	hashSeed   = maphash.MakeSeed()
)
