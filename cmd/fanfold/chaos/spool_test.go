package chaos

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/api/option"

	"github.com/fanfold/fanfold/internal/spooled"
	"github.com/fanfold/fanfold/report"
	"github.com/fanfold/fanfold/sink"
	"github.com/fanfold/fanfold/sink/dir"
	"github.com/fanfold/fanfold/sink/gcs"
	"github.com/fanfold/fanfold/spool"
)

// inDirectory tells whether the spool of a round is a directory. The other rounds have it in the bad bucket.
func inDirectory(seed uint64) bool { return seed%2 == 1 }

// spoolAbove returns the size above which a worker spools datasets. The last one keeps large ones in Redis, where they
// compete for memory, as if its configuration was older.
func spoolAbove(worker int) string {
	if worker == len(crew)-1 {
		return "1MB"
	}
	if worker == 1 {
		return "1KB, compression: off"
	}
	return "1KB"
}

// withLog gives the database a binary log, which names its snapshots.
const withLog = "--log-bin=log"

// inParts makes a listener of the report be read in parts, in two of three rounds: as of one moment, which the records
// that change all the time make hard to find, or approximately, so that another try goes on with the parts of the first.
func inParts(seed uint64, text string) string {
	parts := [3][2]string{{"approximate", ""}, {"", "same"}}[seed%3]
	for i, name := range []string{"@a ", "@b "} {
		with := ""
		if parts[i] != "" {
			with = "divide: {by: k, parts: 3, snapshot: " + parts[i] + "}, "
		}
		text = strings.Replace(text, name, with, 1)
	}
	return text
}

// kindsFor returns the kinds of faults that a round can have: only a directory has a disk.
func kindsFor(seed uint64, kinds []string) []string {
	return slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return kind == faultDisk && !inDirectory(seed) })
}

// A worker that gets diskFull cannot write more than diskBytes into a file until it gets diskFree. So a disk is full
// without the rights that a small file system needs.
const (
	diskFull  = syscall.SIGUSR1
	diskFree  = syscall.SIGUSR2
	diskBytes = 600
)

// readySpool prepares a worker: a segment has one chunk, small jobs have parts, and its disk can be full.
func readySpool() {
	spooled.SegmentBytes, spooled.MinRange = 1, 50
	disk := make(chan os.Signal, 10)
	signal.Notify(disk, diskFull, diskFree)
	go func() {
		for s := range disk {
			limit := syscall.Rlimit{}
			err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit)
			if limit.Cur = limit.Max; s == diskFull {
				limit.Cur = diskBytes
			}
			if err == nil {
				err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
			}
			if err != nil {
				panic(err) // the judge finds it in the log
			}
		}
	}()
}

// spoolPlace is where the spool of a round lies: in the bad bucket, or in a directory.
type spoolPlace struct {
	sink *badSink
	dir  string // empty: in the bucket
}

// spoolFolder is the folder of the spool in the bucket.
const spoolFolder = "spool/"

func (p *spoolPlace) url() string {
	if p.dir != "" {
		return "file://" + p.dir
	}
	return "gs://" + chaosBucket + "/" + strings.TrimSuffix(spoolFolder, "/")
}

// open opens the spool without relays.
func (p *spoolPlace) open(ctx context.Context) (sink.Sink, error) {
	if p.dir != "" {
		return dir.New(p.dir)
	}
	return p.sink.open(ctx, p.url())
}

// open opens a folder of the bucket without relays.
func (s *badSink) open(ctx context.Context, folder string) (sink.Sink, error) {
	return gcs.New(ctx, report.SinkURL(folder), option.WithoutAuthentication(), option.WithEndpoint("http://"+s.host+"/storage/v1/"))
}

// objects returns what lies in the spool: paths, or names in the bucket.
func (p *spoolPlace) objects(ctx context.Context) (all []string, err error) {
	if p.dir != "" {
		err := filepath.WalkDir(p.dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				all = append(all, path)
			}
			if os.IsNotExist(err) {
				return nil // it was deleted meanwhile
			}
			return err
		})
		return all, err
	}
	list, err := p.sink.store.List(ctx)
	for _, o := range list {
		if strings.HasPrefix(o.Name, spoolFolder) {
			all = append(all, o.Name)
		}
	}
	return all, err
}

// The harms of a segment.
var harms = []struct {
	name   string
	change func(text []byte) []byte // nil: the segment vanishes
}{
	{"vanished", nil},
	{"cut short", func(text []byte) []byte { return text[:len(text)/2] }},
	{"with another byte", func(text []byte) []byte {
		if len(text) > 0 { // it may have been cut short
			text[len(text)/3] ^= 1
		}
		return text
	}},
}

// change changes an object of the spool.
func (p *spoolPlace) change(ctx context.Context, name string, how func([]byte) []byte) error {
	switch {
	case p.dir != "" && how == nil:
		return os.Remove(name)
	case p.dir != "":
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0) // does not create it again
		if err == nil {
			_, err = f.Write(how(text))
			_ = f.Close()
		}
		return err
	case how == nil:
		return p.send(ctx, http.MethodDelete, "/storage/v1/b/"+chaosBucket+"/o/"+url.PathEscape(name), nil)
	}
	text, err := p.sink.store.Read(ctx, name)
	if err != nil {
		return err
	}
	return p.send(ctx, http.MethodPost, "/upload/storage/v1/b/"+chaosBucket+"/o?uploadType=media&name="+url.QueryEscape(name), how(text))
}

// send sends a request to the bucket, which is not bad here.
func (p *spoolPlace) send(ctx context.Context, method, path string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+p.sink.store.Addr+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Host, request.Close = p.sink.host, true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s", method, path, response.Status)
	}
	return nil
}

// spoil harms some segments for a while, most of them soon after they were written.
func (r havoc) spoil(ctx context.Context, f incident) {
	random := rand.New(rand.NewPCG(r.seed, uint64(f.at)))
	seen := map[string]bool{}
	for began := time.Now(); time.Since(began) < f.lasts && ctx.Err() == nil; elapse(ctx, 20*time.Millisecond) {
		all, err := r.spool.objects(ctx)
		if err != nil {
			continue
		}
		for _, name := range all {
			harm := harms[random.IntN(len(harms))]
			if seen[name] || !strings.HasSuffix(name, ".zst") || random.IntN(6) > 0 {
				seen[name] = true
				continue
			}
			seen[name] = true
			if r.spool.change(ctx, name, harm.change) == nil { // an error: it was just deleted
				r.totals.add("segments "+harm.name, 1)
			}
		}
	}
}

// segments checks that nothing is left in the spool.
func (r verdict) segments(ctx context.Context) {
	left, err := r.spool.objects(ctx)
	if err != nil {
		r.violated("list of the spool: %v", err)
	}
	held := r.held(ctx)
	for _, name := range left {
		if slices.ContainsFunc(held, func(object string) bool { return strings.HasSuffix(name, object) }) {
			r.totals.add("segments that are kept", 1)
			continue
		}
		if strings.Contains(name, "fanfold-check-") { // of a process that died while it tested the spool at its start
			r.totals.add("objects of tried spools", 1)
			continue
		}
		r.violated("%s is left in the spool", name)
	}
}

// held returns the segments that are kept of failed jobs, by their names in the spool.
func (r verdict) held(ctx context.Context) (objects []string) {
	place, err := r.spool.open(ctx)
	if err != nil {
		r.violated("open the spool: %v", err)
		return nil
	}
	defer place.Close()
	large := spool.New(spool.Options{Sink: place})
	for _, p := range r.redis.partitions {
		var ids []string
		for id := 1; id <= r.jobs; id++ {
			if id := strconv.Itoa(id); r.redis.partitions.Of(id) == p {
				ids = append(ids, id)
			}
		}
		tickets, err := p.Kept.Tickets(ctx, ids, 0)
		if err != nil {
			r.violated("segments that are kept: %v", err)
		}
		objects = slices.AppendSeq(objects, maps.Keys(large.Objects(tickets)))
	}
	return objects
}
