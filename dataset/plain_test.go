package dataset

import (
	"bytes"
	"testing"
)

// TestPlainBytes checks every byte at every offset, before and after every other byte.
func TestPlainBytes(t *testing.T) {
	t.Parallel()
	for c := range 256 {
		for _, behind := range []byte{'a', 0x00, 0x1f, 0x21, '"', '#', '\\', ']', 0x7f, 0x80, 0xa2, 0xdc, 0xff} {
			for length := range 20 {
				for at := range length {
					text := bytes.Repeat([]byte{'a'}, length)
					text[at] = byte(c)
					for i := at + 1; i < length; i++ {
						text[i] = behind
					}
					ascii, plain := 0, 0
					for ascii < length && text[ascii] < 0x80 && plainInString[text[ascii]] {
						ascii++
					}
					for plain < length && plainInString[text[plain]] {
						plain++
					}
					if got := plainASCII(text); got != ascii {
						t.Fatalf("%q: %d bytes are plain ASCII, want %d", text, got, ascii)
					}
					if got := endOfPlain(text, 0); got != plain {
						t.Fatalf("%q: %d bytes are plain, want %d", text, got, plain)
					}
				}
			}
		}
	}
}
