package recovery

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/klauspost/compress/zstd"

	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/scripts"
)

// Names of the sets in a snapshot.
const (
	setDelayed      = "delayed"
	setTimers       = "timers"
	setPausedTimers = "timers:paused"
)

// sets are those of a snapshot with their keys, in the order in which they are saved and
// restored. Paused timers come before timers: one that a snapshot has as both was paused
// while that was made.
func sets(k *scripts.Keys) [][2]string {
	return [][2]string{
		{setPausedTimers, k.PausedTimers}, {setTimers, k.Timers}, {setDelayed, k.Delayed},
	}
}

// partMembers is the approximate number of members in a part: some 300 KB when it is compressed.
const partMembers = 50_000

// Part is a part of a snapshot: a content as JSON in a zstd frame, such as
//
//	{"sets": {"timers": {"send_message-42-welcome": 1763773822000}}}
type Part struct {
	Members int
	Data    []byte
}

// content is what a part has.
type content struct {
	Sets   members           `json:"sets,omitempty"`
	Pauses map[string]string `json:"pauses,omitempty"` // as Redis has them, in the first part
}

// members are members with their scores, by set.
type members map[string]map[string]int64

// add adds members of a set, except steps of jobs, which are lost with the state of their job,
// invalid names, and scores that are not times.
func (m members) add(set string, all []scripts.Member) {
	if m[set] == nil {
		m[set] = map[string]int64{}
	}
	for _, one := range all {
		member, at := one.Name, math.Ceil(one.Score) // nothing becomes due too early
		if report.ValidTimer(member) && (set != setDelayed || report.ValidID(member)) && math.Abs(at) < 1<<53 {
			m[set][member] = int64(at)
		}
	}
}

func (m members) count() (n int) {
	for _, set := range m {
		n += len(set)
	}
	return n
}

var (
	encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	decoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
)

// encode returns a part. JSON sorts the members, which compresses best.
func (c content) encode() (Part, error) {
	text, err := json.Marshal(c)
	return Part{c.Sets.count() + len(c.Pauses), encoder.EncodeAll(text, nil)}, err
}

func (p Part) decode() (c content, err error) {
	text, err := decoder.DecodeAll(p.Data, nil)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return content{}, fmt.Errorf("recovery: part of a snapshot: %w", err)
	}
	return c, nil
}
