package recovery

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

	"github.com/klauspost/compress/zstd"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Names of the sets in a snapshot.
const (
	setDelayed      = "delayed"
	setTimers       = "timers"
	setPausedTimers = "timers:paused"
	setPaused       = "paused"
)

// setKeys are the sets of a snapshot and their keys, in the order in which they are
// restored. Paused timers come before timers: one that a snapshot has as both was paused
// while that was made.
func setKeys(k scripts.Keys) [][2]string {
	return [][2]string{{setPaused, k.PausedSet()}, {setPausedTimers, k.PausedTimers()}, {setTimers, k.Timers()}, {setDelayed, k.Delayed()}}
}

// maxMember is the length from which a member is in no snapshot: no id and no timer is
// that long.
const maxMember = 255

// due returns the score of a member as an integer, and whether the member is in
// snapshots. Steps of jobs are not: they are lost with the state of their job.
func due(set string, z redis.Z) (member string, at int64, ok bool) {
	member, _ = z.Member.(string)
	if member == "" || len(member) > maxMember || set == setDelayed && !report.ValidID(member) {
		return "", 0, false
	}
	score := math.Ceil(z.Score) // nothing comes back before its time
	return member, int64(score), math.Abs(score) < 1<<53
}

// appendLine writes a member of a part: when it is due, and its name as a Go string.
func appendLine(to []byte, member string, at int64) []byte {
	to = append(strconv.AppendInt(to, at, 10), ' ')
	return append(strconv.AppendQuote(to, member), '\n')
}

// The window of an encoder and a decoder is larger than any part, and small enough to
// be kept.
var (
	encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(256<<10))
	decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
)

// encode makes the data of a part from its lines: one zstd frame.
func encode(lines []byte) []byte { return encoder.EncodeAll(lines, nil) }

// decode returns the members of a part.
func decode(p Part) ([]redis.Z, error) {
	lines, err := decoder.DecodeAll(p.Data, nil)
	if err != nil {
		return nil, fmt.Errorf("recovery: part %d of %s: %w", p.Number, p.Set, err)
	}
	var members []redis.Z
	for line := range bytes.Lines(lines) {
		score, quoted, _ := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
		at, err := strconv.ParseInt(string(score), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("recovery: part %d of %s: %w", p.Number, p.Set, err)
		}
		member, err := strconv.Unquote(string(quoted))
		if err != nil {
			return nil, fmt.Errorf("recovery: part %d of %s: member %s: %w", p.Number, p.Set, quoted, err)
		}
		members = append(members, redis.Z{Member: member, Score: float64(at)})
	}
	return members, nil
}
