package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/internal/testenv"
)

// usage is what a Redis has used since it began.
type usage struct {
	cpu      float64          // s
	commands map[string]int64 // how often each ran, also within scripts
}

func readUsage(ctx context.Context, client *redis.Client) (usage, error) {
	u := usage{commands: map[string]int64{}}
	info, err := client.InfoMap(ctx, "cpu", "commandstats").Result()
	if err != nil {
		return u, err
	}
	for _, field := range []string{"used_cpu_user", "used_cpu_sys"} {
		s, err := strconv.ParseFloat(info["CPU"][field], 64)
		if err != nil {
			return u, fmt.Errorf("%s of Redis: %w", field, err)
		}
		u.cpu += s
	}
	for name, text := range info["Commandstats"] {
		count, _, _ := strings.Cut(strings.TrimPrefix(text, "calls="), ",")
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil {
			return u, fmt.Errorf("%s of Redis: %w", name, err)
		}
		u.commands[strings.TrimPrefix(name, "cmdstat_")] = n
	}
	return u, nil
}

// usedMemory is what Redis has in use, now or at most (used_memory_peak), in MB.
func usedMemory(ctx context.Context, client *redis.Client, field string) (float64, error) {
	info, err := client.InfoMap(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	bytes, err := strconv.ParseFloat(info["Memory"][field], 64)
	return bytes / 1e6, err
}

// watchMemory looks at the memory of Redis until the function is called that it returns, which tells by how many MB it
// has grown at most.
func watchMemory(ctx context.Context, server *testenv.Redis) func() (float64, error) {
	ctx, stop := context.WithCancel(ctx)
	var before, most float64
	done := make(chan error, 1)
	go func() {
		client := server.Client()
		defer client.Close()
		for {
			used, err := usedMemory(context.WithoutCancel(ctx), client, "used_memory")
			if before == 0 {
				before = used
			}
			if most = max(most, used); err != nil || wait(ctx, memoryPause) != nil {
				done <- err
				return
			}
		}
	}()
	return func() (float64, error) {
		stop()
		err := <-done
		return most - before, err
	}
}

// memoryPause is the time between two looks at the memory of Redis.
const memoryPause = 50 * time.Millisecond

// folder is what a directory holds.
type folder struct {
	objects int
	bytes   int64
}

// watchFolder looks at the segments in a directory until the function is called that it returns, which tells the most that
// it held.
func watchFolder(ctx context.Context, path string) func() folder {
	ctx, stop := context.WithCancel(ctx)
	most := make(chan folder)
	go func() {
		var seen folder
		for wait(ctx, memoryPause) == nil {
			var now folder
			files, _ := filepath.Glob(filepath.Join(path, "*", "*.zst"))
			for _, file := range files {
				if info, err := os.Stat(file); err == nil {
					now.objects, now.bytes = now.objects+1, now.bytes+info.Size()
				}
			}
			if now.bytes > seen.bytes {
				seen = now
			}
		}
		most <- seen
	}()
	return func() folder {
		stop()
		return <-most
	}
}

// connections is how many clients Redis has beside this one.
func connections(ctx context.Context, client *redis.Client) (float64, error) {
	info, err := client.InfoMap(ctx, "clients").Result()
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(info["Clients"]["connected_clients"])
	return float64(n - 1), err
}
