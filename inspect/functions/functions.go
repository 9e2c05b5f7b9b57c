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

// every is how often a Loader checks that every master has the library. A master that was added to a
// cluster, or whose functions were deleted, gets it then. A promoted replica already has it.
const every = time.Minute

// Options configures a Loader.
type Options struct {
	Redis      redis.UniversalClient // for commands that do not block
	Partitions scripts.Partitions
	Config     inspect.Config
	Log        *slog.Logger
}

// Loader loads the library into every master.
//
// Processes of several versions may run at the same time. A Loader replaces an older library and
// keeps a newer one, which can do everything that an older one can. If two processes load at the
// same moment and the older library remains, the newer process replaces it within a minute. The
// process that started last writes the key `configuration`; the others write it only if it is missing.
type Loader struct {
	o       Options
	told    map[string]bool // servers and keys whose refusal was logged
	written bool            // this process has written its configuration
}

// New makes a Loader. It does no I/O.
func New(o Options) *Loader { return &Loader{o: o, told: map[string]bool{}} }

// Run loads the library, and checks it every minute until ctx ends. The library is optional: a server
// that refuses it is logged once, and is no error.
func (l *Loader) Run(ctx context.Context) error {
	return step.Every(ctx, l.o.Log, every, "load functions", func(ctx context.Context) error {
		l.Once(ctx)
		return nil
	})
}

// Once loads the library into the masters that do not have it, and writes the configuration.
func (l *Loader) Once(ctx context.Context) {
	masters, err := redisdb.Masters(ctx, l.o.Redis)
	if err != nil {
		return // other parts of the process report it
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
	for i, s := range l.o.Partitions {
		key, text := s.Keys.Configuration(), describe(s.Keys, i == 0, limits, l.o.Config)
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

// tell logs a refusal once. Other parts of the process report a server that is away.
func (l *Loader) tell(what, name string, err error) {
	if err == nil {
		delete(l.told, name)
	}
	if _, refused := errors.AsType[redis.Error](err); !refused || l.told[name] {
		return
	}
	l.told[name] = true
	l.o.Log.Info("could not load fanfold_why and fanfold_top: redis-cli cannot call them", what, name, "err", err)
}

// load loads a version of the library into a server that has none or an older one.
func load(ctx context.Context, server *redis.Client, version int, source string) error {
	has, err := Loaded(ctx, server)
	switch {
	case err != nil || has >= version:
		return err
	case has > 0:
		return server.FunctionLoadReplace(ctx, source).Err()
	}
	if err = server.FunctionLoad(ctx, source).Err(); err != nil {
		// Another process may have just loaded it.
		if has, _ := Loaded(ctx, server); has > 0 {
			return nil
		}
	}
	return err
}

var versioned = regexp.MustCompile(`Library version (\d+)$`)

// Loaded returns the version of the library in a server; 0: none.
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
