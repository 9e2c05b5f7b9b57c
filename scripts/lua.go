package scripts

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var sources embed.FS

// script is one Lua file. Plain is its source without the first line, for servers that refuse
// that.
type script struct {
	name, source, sha, plain, plainSHA string
}

// The scripts by the names of their files, and by their SHA-1, which is their name in Redis.
var named, hashed = loadAll()

// loadAll reads the files that are a script. The others, which have no first line #!lua, precede them.
func loadAll() (named, hashed map[string]*script) {
	named, hashed = map[string]*script{}, map[string]*script{}
	files, err := sources.ReadDir("lua")
	if err != nil {
		panic(err) // the folder is part of the binary
	}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".lua")
		if source := mustRead(name); strings.HasPrefix(source, "#!lua") {
			s := newScript(name, source)
			named[name], hashed[s.sha], hashed[s.plainSHA] = s, s, s
		}
	}
	return named, hashed
}

// newScript makes a script of a file: clock.lua, and the files that it uses, follow its first line.
func newScript(name, source string) *script {
	header, body, _ := strings.Cut(source, "\n")
	plain := strings.ReplaceAll(mustRead("clock")+withUsed(body), "HORIZON",
		strconv.FormatInt(Horizon.Milliseconds(), 10))
	source = header + "\n" + plain
	hash := func(source string) string {
		sum := sha1.Sum([]byte(source))
		return hex.EncodeToString(sum[:])
	}
	return &script{name: name, source: source, sha: hash(source), plain: plain, plainSHA: hash(plain)}
}

// withUsed puts the files before a source that its first line names, as in "-- Uses  receipts, keep". A script
// that uses another one, such as count.lua, is that script with another first line.
func withUsed(source string) string {
	first, _, _ := strings.Cut(source, "\n")
	uses, ok := strings.CutPrefix(first, "-- Uses  ")
	if !ok {
		return source
	}
	for _, name := range slices.Backward(strings.Split(uses, ", ")) {
		used := mustRead(name)
		if header, body, _ := strings.Cut(used, "\n"); strings.HasPrefix(header, "#!lua") {
			used = body
		}
		source = withUsed(used) + source
	}
	return source
}

// Names returns the names of all scripts by the SHA-1 with which Redis knows them.
func Names() map[string]string {
	names := map[string]string{}
	for sha, s := range hashed {
		names[sha] = s.name
	}
	return names
}

func mustRead(name string) string {
	b, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // the file is part of the binary
	}
	return string(b)
}

// Load sends all scripts to the server of the keys, which proves that it can be reached and is new enough
// (7.0). Calling it is optional: a script that is missing is sent when it is used. Their first
// line, #!lua, has the server check that all keys are declared. A server that refuses the line,
// such as Dragonfly, gets them without, from then on.
func (s *conn) Load(ctx context.Context) error {
	node, err := s.Node(ctx)
	if err != nil {
		return err
	}
	for _, script := range named {
		if err := s.load(ctx, node, script); err != nil {
			return fmt.Errorf("load script %s: %w", script.name, err)
		}
	}
	return nil
}

// Plain tells whether the server has refused the first line of scripts, so that it does not check
// their keys.
func (s *conn) Plain() bool { return s.plain.Load() }

// load sends a script to a server. Once a server has refused the first line, it is left out.
func (s *conn) load(ctx context.Context, node *redis.Client, script *script) error {
	err := node.ScriptLoad(ctx, script.sourceFor(s.Plain())).Err()
	if _, refused := errors.AsType[redis.Error](err); !refused || s.Plain() {
		return err
	}
	if node.ScriptLoad(ctx, script.plain).Err() != nil {
		return err
	}
	s.plain.Store(true)
	return nil
}

func (s *script) sourceFor(plain bool) string {
	if plain {
		return s.plain
	}
	return s.source
}

// call makes the command that runs the script of a file.
func call(ctx context.Context, name string, keys []string, args ...any) *redis.Cmd {
	s, all := named[name], make([]any, 0, 3+len(keys)+len(args))
	all = append(all, "evalsha", s.sha, len(keys))
	for _, k := range keys {
		all = append(all, k)
	}
	cmd := redis.NewCmd(ctx, append(all, args...)...)
	cmd.SetFirstKeyPos(3)
	return cmd
}

// nameOf is the name of a command or a script.
func nameOf(c redis.Cmder) string {
	switch args := c.Args(); args[0] {
	case "evalsha":
		return "script " + hashed[args[1].(string)].name
	case "eval":
		for _, s := range named {
			if s.source == args[1] || s.plain == args[1] {
				return "script " + s.name
			}
		}
	}
	return c.Name()
}
