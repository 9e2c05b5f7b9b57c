package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fanfold/fanfold/internal/testenv"
)

// joinTables are two tables of 7 columns; every row of one meets one of the
// other.
const joinTables = `
CREATE TABLE a (user_id BIGINT UNSIGNED PRIMARY KEY, name VARCHAR(40), tag VARCHAR(20), score INT, level INT, city VARCHAR(30), created_at DATETIME);
CREATE TABLE b (id BIGINT UNSIGNED PRIMARY KEY, user_id BIGINT UNSIGNED, amount DECIMAL(18,2), fee DECIMAL(18,2), status VARCHAR(10), note VARCHAR(40), created_at DATETIME, KEY (user_id));
INSERT INTO a SELECT seq, CONCAT('name ', seq), ELT(1 + seq %% 3, 'vip', 'new', 'old'), seq %% 1000, seq %% 10, ELT(1 + seq %% 4, 'Berlin', 'Lagos', 'Osaka', 'Lima'), '2024-01-01' + INTERVAL seq MINUTE FROM seq_1_to_%[1]d;
INSERT INTO b SELECT seq, 1 + seq * 7919 %% %[1]d, seq %% 100000 / 100, seq %% 100 / 100, ELT(1 + seq %% 3, 'done', 'open', 'refused'), CONCAT('note ', seq), '2024-01-01' + INTERVAL seq SECOND FROM seq_1_to_%[1]d;
`

const (
	selectA   = "SELECT user_id, name, tag, score, level, city, created_at FROM big.a"
	selectB   = "SELECT id, user_id, amount, fee, status, note, created_at FROM big.b"
	selectAll = "SELECT a.user_id, a.name, a.tag, a.score, a.level, a.city, a.created_at, b.id, b.amount, b.fee, b.status, b.note, b.created_at FROM big.a a JOIN big.b b ON b.user_id = a.user_id"
)

// joinName is what is measured of a join.
func joinName(rows int) string { return fmt.Sprintf("join of 2 × %d rows", rows) }

const (
	joinJob        = ", whole job to file"
	joinMemory     = ", peak memory of the process"
	joinRedis      = ", peak memory of Redis"
	joinSegments   = ", segments in the spool"
	joinSpool      = ", bytes in the spool"
	joinPing       = ", PING of another client meanwhile"
	joinSpooled    = "fanfold, rows in the spool"
	joinPlain      = "fanfold, rows in the spool, not compressed"
	joinDumps      = "mariadb client, two dumps"
	joinDuckDB     = "mariadb client, two dumps, joined by DuckDB"
	joinItself     = "mariadb client, its own join"
	quietRedis     = "a Redis beside it that does nothing else"
	joinRows       = 1_000_000
	joinRowsLarge  = 10_000_000
	joinBytesLarge = "64GB" // limits.job_bytes of the large one
)

func join(ctx context.Context, o options, dir string, r *results) error {
	j, err := startJoin(ctx, dir, o.rows)
	if err != nil {
		return err
	}
	defer j.stop()
	if err := j.measure(ctx, o.rounds, r); err != nil {
		return err
	}
	return j.datasets(ctx, r)
}

func joinLarge(ctx context.Context, o options, dir string, r *results) error {
	j, err := startJoin(ctx, dir, o.largeRows)
	if err != nil {
		return err
	}
	defer j.stop()
	return j.measure(ctx, 1, r)
}

// joiner has two large tables.
type joiner struct {
	dir, program string
	rows         int
	redis, quiet *testenv.Redis
	mariadb      *testenv.Database
	db           *sql.DB
}

func startJoin(ctx context.Context, dir string, rows int) (_ *joiner, err error) {
	j := &joiner{dir: dir, rows: rows}
	defer func() {
		if err != nil {
			j.stop()
		}
	}()
	if j.program, err = buildProduct(ctx, filepath.Dir(dir)); err != nil {
		return nil, err
	}
	if j.redis, err = testenv.StartRedis(ctx, mkdir(dir, "redis")); err != nil {
		return nil, err
	}
	if j.quiet, err = testenv.StartRedis(ctx, mkdir(dir, "quiet")); err != nil {
		return nil, err
	}
	if j.mariadb, err = testenv.StartDatabase(ctx, mkdir(dir, "mariadb"), "--innodb-buffer-pool-size=1G"); err != nil {
		return nil, err
	}
	if j.db, err = j.mariadb.Open(""); err != nil {
		return nil, err
	}
	_, err = j.db.ExecContext(ctx, "CREATE DATABASE big; USE big;"+fmt.Sprintf(joinTables, rows))
	return j, err
}

func (j *joiner) stop() {
	if j.db != nil {
		_ = j.db.Close()
	}
	if j.mariadb != nil {
		j.mariadb.Stop()
	}
	for _, server := range []*testenv.Redis{j.redis, j.quiet} {
		if server != nil {
			server.Stop()
		}
	}
}

// ways are how a job can store its rows, by system.
func (j *joiner) ways(ctx context.Context) (map[string]product, error) {
	inRedis, err := j.product(ctx, map[string]any{"limits": map[string]any{"job_bytes": joinBytesLarge}})
	if err != nil {
		return nil, err
	}
	ways := map[string]product{"fanfold": inRedis}
	for system, compression := range map[string]string{joinSpooled: "zstd", joinPlain: "off"} {
		folder := mkdir(j.dir, compression)
		spool := map[string]any{"url": "file://" + filepath.Join(folder, "spool"), "compression": compression}
		settings := joinSettings(map[string]any{"spool": spool})
		if ways[system], err = newProduct(ctx, j.program, folder, j.redis, j.mariadb, "big", settings); err != nil {
			return nil, err
		}
	}
	return ways, nil
}

// product makes the configuration, with more settings at its top.
func (j *joiner) product(ctx context.Context, settings map[string]any) (product, error) {
	return newProduct(ctx, j.program, j.dir, j.redis, j.mariadb, "big", joinSettings(settings))
}

// measure measures the whole job, from the pushed id to the file, of joining the
// tables in a process of its own, beside what the mariadb client needs.
func (j *joiner) measure(ctx context.Context, rounds int, r *results) error {
	ways, err := j.ways(ctx)
	if err != nil {
		return err
	}
	duckdb := npmInstall(ctx, "duckdb")
	if duckdb != nil {
		r.note("DuckDB is left out: %v", duckdb)
	}
	what := joinName(j.rows)
	for range rounds {
		for _, system := range slices.Sorted(maps.Keys(ways)) {
			seen, err := j.once(ctx, ways[system])
			if err != nil {
				return err
			}
			r.add(what+joinJob, system, "s", seen.took.Seconds())
			r.add(what+joinMemory, system, "MB", seen.memory)
			r.add(what+joinRedis, system, "MB", seen.redis)
			r.distribution(what+joinPing, system, seen.pings)
			if system == joinSpooled {
				r.add(what+joinSegments, system, "objects", float64(seen.spooled.objects))
				r.add(what+joinSpool, system, "MB", float64(seen.spooled.bytes)/1e6)
				r.distribution(what+joinPing, quietRedis, seen.quiet)
			}
		}
		start := time.Now()
		if err := errors.Join(j.dump(ctx, "a.tsv", selectA), j.dump(ctx, "b.tsv", selectB)); err != nil {
			return err
		}
		r.add(what+joinJob, joinDumps, "s", time.Since(start).Seconds())
		if duckdb == nil {
			if err := command(ctx, os.Stderr, "node", "duckdb/join.mjs", j.file("a.tsv"), j.file("b.tsv"), j.file("duckdb.csv")); err != nil {
				return err
			}
			r.add(what+joinJob, joinDuckDB, "s", time.Since(start).Seconds())
		}
		start = time.Now()
		if err := j.dump(ctx, "joined.tsv", selectAll); err != nil {
			return err
		}
		r.add(what+joinJob, joinItself, "s", time.Since(start).Seconds())
	}
	return nil
}

// joined is what was seen of one job.
type joined struct {
	took         time.Duration
	memory       float64 // MB: the process's largest resident set
	redis        float64 // MB: the largest memory of Redis beyond that of before
	spooled      folder  // the most that it held
	pings, quiet []time.Duration
}

// once runs one job in a fresh process.
func (j *joiner) once(ctx context.Context, p product) (seen joined, err error) {
	serve, err := p.serve(ctx)
	if err != nil {
		return seen, err
	}
	defer func() {
		memory, stopped := serve.stop()
		seen.memory, err = memory, errors.Join(err, stopped)
	}()
	id, err := j.insert(ctx)
	if err != nil {
		return seen, err
	}
	pings, quiet, used := ping(ctx, j.redis), ping(ctx, j.quiet), watchMemory(ctx, j.redis)
	spooled := watchFolder(ctx, filepath.Join(j.dir, "zstd", "spool"))
	start := time.Now()
	err = p.do(ctx, "submit", "--wait", id)
	seen.took = time.Since(start)
	var pinged, quieted error
	seen.pings, pinged = pings()
	seen.quiet, quieted = quiet()
	var asked error
	seen.redis, asked = used()
	seen.spooled = spooled()
	if err := errors.Join(err, pinged, quieted, asked); err != nil {
		return seen, err
	}
	return seen, j.found(ctx, id)
}

// insert makes a record.
func (j *joiner) insert(ctx context.Context) (id string, err error) {
	inserted, err := j.db.ExecContext(ctx, "INSERT INTO big.file_download_record (report) VALUES ('big')")
	if err != nil {
		return "", err
	}
	n, err := inserted.LastInsertId()
	return strconv.FormatInt(n, 10), err
}

// found says what is wrong with the file of a record.
func (j *joiner) found(ctx context.Context, id string) error {
	var rows int
	if err := j.db.QueryRowContext(ctx, "SELECT row_count FROM big.file_download_record WHERE id = ?", id).Scan(&rows); err != nil {
		return err
	}
	if rows != j.rows {
		return fmt.Errorf("the file has %d rows, not %d", rows, j.rows)
	}
	return nil
}

// joinSettings are the settings of the report, with more of them at the top.
func joinSettings(more map[string]any) map[string]any {
	settings := map[string]any{
		"reports": map[string]any{"big": map[string]any{
			"listeners": map[string]any{
				"big.a": map[string]any{"database": "big", "query": selectA},
				"big.b": map[string]any{"database": "big", "query": selectB},
			},
			"join": map[string]any{"key": "user_id", "listeners": []string{"big.a", "big.b"}},
			"file": map[string]any{"columns": []any{
				"user_id", "name", "tag", "score", "level", "city", map[string]any{"column": "big.a.created_at", "label": "registered"},
				"id", "amount", "fee", "status", "note", "big.b.created_at",
			}},
		}},
	}
	maps.Copy(settings, more)
	return settings
}

// dump has the mariadb client write the rows of a query to a file.
func (j *joiner) dump(ctx context.Context, file, query string) error {
	out, err := os.Create(j.file(file))
	if err != nil {
		return err
	}
	defer out.Close()
	host, port, _ := strings.Cut(j.mariadb.Addr, ":")
	return command(ctx, out, "mariadb", "--no-defaults", "-uroot", "-h"+host, "-P"+port, "--quick", "--batch", "-e", query)
}

func (j *joiner) file(name string) string { return filepath.Join(j.dir, name) }
