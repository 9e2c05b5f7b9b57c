package functions

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/inspect"
	"github.com/fanfold/fanfold/internal/redisdb"
	"github.com/fanfold/fanfold/internal/step"
	"github.com/fanfold/fanfold/scripts"
)

// every is how often a Loader looks whether each master has the library: one that was added to a
// cluster, or whose functions were deleted, gets it then. One that was promoted has it as its
// master had it.
const every = time.Minute

// Options configures a Loader.
type Options struct {
	Redis      redis.UniversalClient // for everything short
	Partitions scripts.Partitions
	Config     inspect.Config
	Log        *slog.Logger
}

// Loader loads the library into every master.
//
// Processes of several versions may run at once. A Loader replaces an older library and leaves a
// newer one, which knows all that an older one does. If two load at the same moment and the
// older library remains, the newer process replaces it within a minute. The key `configuration` is
// written by the process that was started last; the others only write it where it is missing.
type Loader struct {
	o       Options
	told    map[string]bool // servers and keys that have refused, which the log says once
	written bool            // this process has written its configuration
}

// New makes a Loader. It asks nothing yet.
func New(o Options) *Loader { return &Loader{o: o, told: map[string]bool{}} }

// Run loads the library where it may, until ctx ends. It is optional: what refuses it is logged
// once, and is no error.
func (l *Loader) Run(ctx context.Context) error {
	return step.Every(ctx, l.o.Log, every, "load functions", func(ctx context.Context) error {
		l.Once(ctx)
		return nil
	})
}

// Once loads the library into the masters that do not have it, and writes what it must know.
func (l *Loader) Once(ctx context.Context) {
	masters, err := redisdb.Masters(ctx, l.o.Redis)
	if err != nil {
		return // which others tell
	}
	has := false
	for _, master := range masters {
		err := load(ctx, master, Version, Source())
		l.tell("server", master.Options().Addr, err)
		has = has || err == nil
	}
	if !has {
		return
	}
	limits, written := l.o.Config.Limits.Share(len(l.o.Partitions)), true
	for _, s := range l.o.Partitions {
		key, text := s.Keys.Configuration(), describe(s.Keys, limits, l.o.Config.Reports)
		if l.written {
			err = l.o.Redis.SetNX(ctx, key, text, 0).Err()
		} else {
			err = l.o.Redis.Set(ctx, key, text, 0).Err()
		}
		l.tell("key", key, err)
		written = written && err == nil
	}
	l.written = l.written || written
}

// tell logs once what a server has answered; that one is away is told by others.
func (l *Loader) tell(what, name string, err error) {
	if err == nil {
		delete(l.told, name)
	}
	if _, refused := errors.AsType[redis.Error](err); !refused || l.told[name] {
		return
	}
	l.told[name] = true
	l.o.Log.Info("fanfold_why and fanfold_top cannot be called with redis-cli", what, name, "err", err)
}

// load loads a version of the library into a server that has none, or an older one.
func load(ctx context.Context, server *redis.Client, version int, source string) error {
	has, err := Loaded(ctx, server)
	switch {
	case err != nil || has >= version:
		return err
	case has > 0:
		return server.FunctionLoadReplace(ctx, source).Err()
	}
	if err = server.FunctionLoad(ctx, source).Err(); err != nil {
		// Another process may have loaded it just now.
		if has, _ := Loaded(ctx, server); has > 0 {
			return nil
		}
	}
	return err
}

var versioned = regexp.MustCompile(`Library version (\d+)$`)

// Loaded returns the version of the library that a server has; 0: none.
func Loaded(ctx context.Context, server *redis.Client) (int, error) {
	libraries, err := server.FunctionList(ctx, redis.FunctionListQuery{LibraryNamePattern: Name}).Result()
	for _, library := range libraries {
		for _, f := range library.Functions {
			if m := versioned.FindStringSubmatch(f.Description); m != nil {
				version, err := strconv.Atoi(m[1])
				return version, err
			}
		}
	}
	return 0, err
}
