package parquet

import (
	"sync"

	"github.com/klauspost/compress/zstd"
	codec "github.com/parquet-go/parquet-go/compress/zstd"
)

// windowBytes is more than a page has, but for one with a long text. The library's own encoders take 8 MB each.
const windowBytes = 512 << 10

// The settings of the compression must not change: a file that is written again must have the same bytes.
var encoders = sync.Pool{New: func() any {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(windowBytes), zstd.WithZeroFrames(true), zstd.WithEncoderCRC(false))
	if err != nil {
		panic(err) // the settings are constant
	}
	return e
}}

// small is zstd that takes little memory.
type small struct{ codec.Codec }

// Encode implements compress.Codec.
func (*small) Encode(dst, src []byte) ([]byte, error) {
	e := encoders.Get().(*zstd.Encoder)
	defer encoders.Put(e)
	return e.EncodeAll(src, dst[:0]), nil
}
