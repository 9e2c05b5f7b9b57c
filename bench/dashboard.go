package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/fanfold/fanfold/internal/testenv"
	"github.com/fanfold/fanfold/report"
)

const (
	dashboardJobs     = 10_000
	dashboardBrowsers = 50
	dashboardWindow   = 20 * time.Second // in each round

	whatPage         = "dashboard, 10,000 running jobs: time of a page"
	whatSamplerRedis = "dashboard, 10,000 running jobs: CPU of Redis"
	whatSamplerCPU   = "dashboard, 10,000 running jobs: CPU of the process"

	nobodyLooks   = "nobody looks"
	fiftyBrowsers = "50 browsers"
)

// dashboardPages are those that the browsers look at, in turns.
var dashboardPages = []string{"/", "/jobs", "/jobs/%d", "/listeners", "/jobs?view=stuck", "/jobs?sort=-data&page=5"}

// dashboards measures how long a page takes while 50 browsers look at 10,000 jobs that run, and
// what the sampler takes that reads for them. No job goes on meanwhile: all of them wait for an external listener that
// has no worker, so that Redis does nothing else.
func dashboards(ctx context.Context, o options, dir string, r *results) (err error) {
	program, err := buildProduct(ctx, filepath.Dir(dir))
	if err != nil {
		return err
	}
	mariadb, err := testenv.StartDatabase(ctx, mkdir(dir, "mariadb"))
	if err != nil {
		return err
	}
	defer mariadb.Stop()
	server, err := testenv.StartRedis(ctx, mkdir(dir, "redis"))
	if err != nil {
		return err
	}
	defer server.Stop()
	client := server.Client()
	defer client.Close()
	db, err := mariadb.Open("mysql")
	if err != nil {
		return err
	}
	defer db.Close()
	const schema = "dashboard"
	if _, err := db.ExecContext(ctx, "CREATE DATABASE "+schema); err != nil {
		return err
	}
	p, err := newProduct(ctx, program, dir, server, mariadb, schema, map[string]any{
		"limits": map[string]any{"running_jobs": dashboardJobs},
		"reports": map[string]any{"bench": map[string]any{"listeners": map[string]any{
			"l0": map[string]any{"kind": "external", "columns": []string{"k"}},
		}}},
	})
	if err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, "INSERT INTO "+schema+"."+report.DefaultTable+" (id, report) SELECT seq, 'bench' FROM seq_1_to_"+strconv.Itoa(dashboardJobs)); err != nil {
		return err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	serve, err := p.serveWith(ctx, "--http", address)
	if err != nil {
		return err
	}
	defer func() {
		_, stopped := serve.stop()
		err = errors.Join(err, stopped)
	}()
	if _, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for id := range dashboardJobs {
			p.XAdd(ctx, &redis.XAddArgs{Stream: keys.Jobs, Values: []string{"id", strconv.Itoa(id + 1)}})
		}
		return nil
	}); err != nil {
		return err
	}
	for n := int64(0); n < dashboardJobs; n = client.ZCard(ctx, keys.Deadlines).Val() {
		if err := wait(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	if err := wait(ctx, waitingCalm); err != nil {
		return err
	}
	for range o.rounds {
		// Quiet first: browsers of the round before are forgotten after 30 seconds.
		if err := wait(ctx, 35*time.Second); err != nil {
			return err
		}
		if err := lookAt(ctx, client, serve, r, nobodyLooks, func(ctx context.Context) error { return wait(ctx, dashboardWindow) }); err != nil {
			return err
		}
		var times durations
		if err := lookAt(ctx, client, serve, r, fiftyBrowsers, func(ctx context.Context) error { return browse(ctx, "http://"+address, &times) }); err != nil {
			return err
		}
		r.distribution(whatPage, fiftyBrowsers, times.list)
	}
	return nil
}

// lookAt measures what Redis and the process take while something is done.
func lookAt(ctx context.Context, client *redis.Client, serve *process, r *results, system string, do func(context.Context) error) error {
	cpu, err := serve.cpu()
	if err != nil {
		return err
	}
	before, err := readUsage(ctx, client)
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := do(ctx); err != nil {
		return err
	}
	took := time.Since(begin).Seconds()
	after, err := readUsage(ctx, client)
	if err != nil {
		return err
	}
	end, err := serve.cpu()
	r.add(whatSamplerRedis, system, "% of a core", 100*(after.cpu-before.cpu)/took)
	r.add(whatSamplerCPU, system, "% of a core", 100*(end-cpu).Seconds()/took)
	return err
}

// durations are collected by several browsers.
type durations struct {
	mu   sync.Mutex
	list []time.Duration
}

// browse has 50 browsers look for a window. As the script of the pages does, each is told of new samples, and
// loads its page again then.
func browse(ctx context.Context, base string, times *durations) error {
	ctx, cancel := context.WithTimeout(ctx, dashboardWindow)
	defer cancel()
	transport := &http.Transport{MaxIdleConnsPerHost: 2 * dashboardBrowsers}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	load := func(path string) (*http.Response, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+path, nil)
		if err != nil {
			return nil, err
		}
		answer, err := client.Do(request)
		if err == nil && answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", path, answer.Status)
		}
		return answer, err
	}
	group, ctx := errgroup.WithContext(ctx)
	for i := range dashboardBrowsers {
		group.Go(func() error {
			live, err := load("/live")
			if err != nil {
				return err
			}
			defer live.Body.Close()
			path := dashboardPages[i%len(dashboardPages)]
			if path == "/jobs/%d" {
				path = fmt.Sprintf(path, i+1)
			}
			for lines := bufio.NewScanner(live.Body); lines.Scan(); {
				if text := lines.Text(); len(text) < 5 || text[:5] != "data:" {
					continue
				}
				begin := time.Now()
				answer, err := load(path)
				if err != nil {
					return err
				}
				_, err = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
				if err != nil {
					return err
				}
				times.mu.Lock()
				times.list = append(times.list, time.Since(begin))
				times.mu.Unlock()
			}
			return nil
		})
	}
	if err := group.Wait(); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// freeAddress is one of the loopback interface that nobody listens on.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
