// Service is the service of an external listener: it returns scores of the users that an earlier stage
// has found. You can kill it at any time, and run any number of copies at once.
//
//	go run ./examples/external/go redis://user:password@127.0.0.1:6379/0
//	go run ./examples/external/go -partitions 4 redis://user:password@127.0.0.1:6379/0
//	go run ./examples/external/go -partitions 8 -cluster redis://user:password@127.0.0.1:6379
package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/report"
)

const (
	listener = "vendor.scores"
	group    = "fanfold"
)

// keys are the keys of a partition: the stream of tasks, the stream of replies, and the prefix of a job's
// hash.
type keys struct{ tasks, reply, hash string }

// service works on the tasks of the listener.
type service struct {
	redis    redis.UniversalClient
	consumer string
	unzip    *zstd.Decoder
}

func main() {
	partitions := flag.Int("partitions", 1, "redis.partitions in Fanfold's configuration")
	cluster := flag.Bool("cluster", false, "the URL names a node of a Redis Cluster")
	flag.Parse()
	o, err := redis.ParseURL(cmp.Or(flag.Arg(0), "redis://127.0.0.1:6379/0"))
	if err != nil {
		log.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		log.Fatal(err)
	}
	unzip, err := zstd.NewReader(nil)
	if err != nil {
		log.Fatal(err)
	}
	s := &service{consumer: fmt.Sprintf("%s-%d", host, os.Getpid()), unzip: unzip,
		redis: redis.NewUniversalClient(&redis.UniversalOptions{
			Addrs: []string{o.Addr}, Username: o.Username, Password: o.Password, DB: o.DB, TLSConfig: o.TLSConfig,
			IsClusterMode: *cluster,
		})}
	of := report.Redis{Partitions: *partitions}
	if *cluster {
		of.Cluster = []string{o.Addr}
	}
	var all []keys
	for _, k := range (report.Keys{Prefix: "fanfold:", Hash: "FileDownloadRecordEntity-"}).Partitions(of) {
		all = append(all, keys{k.Prefix + "task:" + listener, k.Prefix + "reply", k.Hash})
	}
	// One call reads all streams of one server. In a cluster, every stream needs its own reader.
	readers := [][]keys{all}
	if *cluster {
		readers = nil
		for _, k := range all {
			readers = append(readers, []keys{k})
		}
	}
	var group sync.WaitGroup
	for _, some := range readers {
		group.Go(func() { s.read(context.Background(), some) })
	}
	group.Wait()
}

// read works on the tasks of some partitions. COUNT applies to every stream; the entries of a call are
// processed at the same time.
func (s *service) read(ctx context.Context, some []keys) {
	byStream, streams := map[string]keys{}, []string{}
	for _, k := range some {
		byStream[k.tasks] = k
		streams = append(streams, k.tasks)
	}
	for range some {
		streams = append(streams, ">")
	}
	for {
		found, err := s.redis.XReadGroup(ctx,
			&redis.XReadGroupArgs{Group: group, Consumer: s.consumer, Streams: streams, Count: 1,
				Block: 5 * time.Second}).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			log.Print(err) // Redis is unreachable, or Fanfold has not created the group yet
			time.Sleep(time.Second)
			continue
		}
		var group sync.WaitGroup
		for _, f := range found {
			for _, entry := range f.Messages {
				group.Go(func() { s.work(ctx, byStream[f.Stream], entry) })
			}
		}
		group.Wait()
	}
}

// insist repeats a command until Redis accepts it: Redis may be unreachable or full. Commands that run
// twice have no further effect.
func insist[T any](command func() (T, error)) T {
	for {
		result, err := command()
		if err == nil || errors.Is(err, redis.Nil) {
			return result
		}
		log.Print(err, "; retrying in a second")
		time.Sleep(time.Second)
	}
}

// task is an entry in work.
type task struct {
	*service
	keys
	job    string // its hash
	fields []any  // fields of every reply
}

// say sends Fanfold a reply to a task.
func (t *task) say(ctx context.Context, kind string, more ...any) {
	values := append(append([]any{"type", kind}, t.fields...), more...)
	insist(func() (string, error) {
		return t.redis.XAdd(ctx, &redis.XAddArgs{Stream: t.reply, Values: values}).Result()
	})
}

// permanent is an error that every try would repeat.
type permanent string

func (p permanent) Error() string { return string(p) }

var errEnded = errors.New("the job has ended")

// work works on one task.
func (s *service) work(ctx context.Context, k keys, entry redis.XMessage) {
	id := fmt.Sprint(entry.Values["id"])
	t := &task{s, k, k.hash + id, []any{
		"id", id, "attempt", entry.Values["attempt"], "listener", listener, "worker", rand.Text(), "entry", entry.ID,
		"consumer", s.consumer,
	}}
	t.say(ctx, "alive")
	beat, end := context.WithCancel(ctx)
	defer end()
	go func() {
		for {
			select {
			case <-beat.Done():
				return
			case <-time.After(time.Second):
				t.say(ctx, "alive")
			}
		}
	}()
	number, err := t.rows(ctx)
	var never permanent
	switch {
	case errors.Is(err, errEnded):
	case errors.As(err, &never):
		t.say(ctx, "failed", "error", err.Error(), "permanent", 1)
	case err != nil:
		t.say(ctx, "failed", "error", err.Error())
	default:
		t.say(ctx, "done", "chunks", number)
	}
}

// rows sends Fanfold the rows of a task, and returns the number of replies.
func (t *task) rows(ctx context.Context) (number int, err error) {
	text := insist(func() (string, error) { return t.redis.HGet(ctx, t.job, "parameters").Result() })
	var parameters struct{ From string }
	if text == "" {
		return 0, errEnded
	}
	if err := json.Unmarshal([]byte(text), &parameters); err != nil {
		return 0, err
	}
	seen := map[int64]bool{}
	for n := range t.chunks(ctx, "shop.users") {
		all, err := t.values(ctx, "shop.users.user_id", n)
		if err != nil {
			return 0, err
		}
		var users []int64 // without nulls and duplicates
		for _, user := range all {
			if user != nil && !seen[*user] {
				seen[*user] = true
				users = append(users, *user)
			}
		}
		for len(users) > 0 {
			for insist(func() (int64, error) { return t.redis.XLen(ctx, t.reply).Result() }) > 100 {
				time.Sleep(100 * time.Millisecond) // Fanfold is slower than this service
			}
			some := users[:min(1000, len(users))]
			users = users[len(some):]
			rows := make([][]any, len(some))
			for i, user := range some {
				score, err := score(user, parameters.From)
				if err != nil {
					return 0, err
				}
				rows[i] = []any{user, score}
			}
			text, err := json.Marshal(rows)
			if err != nil {
				return 0, err
			}
			t.say(ctx, "rows", "number", number, "rows", text)
			number++
		}
	}
	return number, nil
}

var chunks = regexp.MustCompile(` chunks=(\d+)`)

// chunks returns the number of chunks that an earlier stage has found.
func (t *task) chunks(ctx context.Context, listener string) int {
	found := insist(func() (string, error) { return t.redis.HGet(ctx, t.job, listener+":found").Result() })
	if m := chunks.FindStringSubmatch(found); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	return 0
}

// values returns the values of a chunk of a column.
func (t *task) values(ctx context.Context, field string, chunk int) (all []*int64, err error) {
	if chunk > 0 {
		field += "#" + strconv.Itoa(chunk)
	}
	text := insist(func() ([]byte, error) { return t.redis.HGet(ctx, t.job, field).Bytes() })
	if len(text) == 0 {
		return nil, errEnded
	}
	if bytes.HasPrefix(text, []byte("\x28\xb5\x2f\xfd")) { // limits.redis_compression
		if text, err = t.unzip.DecodeAll(text, nil); err != nil {
			return nil, err
		}
	}
	return all, json.Unmarshal(text, &all)
}

// score returns the score of a user. Replace it with your own code.
func score(user int64, from string) (string, error) {
	if from > "2100" {
		return "", permanent("there are no scores from " + from + " on")
	}
	return strconv.FormatFloat(float64(user)*1.5, 'f', 2, 64), nil
}
