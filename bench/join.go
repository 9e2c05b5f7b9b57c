package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
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

// join measures the whole job, from the pushed id to the file, of joining two
// large tables in a process of its own, beside what the mariadb client needs.
func join(ctx context.Context, o options, dir string, r *results) error {
	server, err := testenv.StartRedis(ctx, mkdir(dir, "join-redis"))
	if err != nil {
		return err
	}
	defer server.Stop()
	mariadb, err := testenv.StartMariaDB(ctx, mkdir(dir, "join-mariadb"), "--innodb-buffer-pool-size=1G")
	if err != nil {
		return err
	}
	defer mariadb.Stop()
	db, err := mariadb.Open("")
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, "CREATE DATABASE big; USE big;"+fmt.Sprintf(joinTables, o.rows)); err != nil {
		return err
	}
	config, err := joinConfig(dir, server, mariadb)
	if err != nil {
		return err
	}
	fanfold := filepath.Join(dir, "fanfold")
	if err := command(ctx, nil, "go", "build", "-C", "..", "-tags", "disable_grpc_modules", "-o", fanfold, "./cmd/fanfold"); err != nil {
		return err
	}
	if err := command(ctx, nil, fanfold, "-c", config, "migrate"); err != nil {
		return err
	}
	what := fmt.Sprintf("join of 2 × %d rows", o.rows)
	for range o.rounds {
		took, memory, err := joinOnce(ctx, fanfold, config, mariadb, o.rows)
		if err != nil {
			return err
		}
		r.add(what+", whole job to file", "fanfold", "s", took.Seconds())
		r.add(what+", peak memory of the process", "fanfold", "MB", memory)
		for _, peer := range []struct{ name, query string }{
			{"mariadb client, two dumps", selectA + ";" + selectB},
			{"mariadb client, its own join", selectAll},
		} {
			start := time.Now()
			if err := dump(ctx, mariadb, peer.query, filepath.Join(dir, "dump.tsv")); err != nil {
				return err
			}
			r.add(what+", whole job to file", peer.name, "s", time.Since(start).Seconds())
		}
	}
	peak, err := redisPeak(ctx, server)
	if err != nil {
		return err
	}
	r.add(what+", peak memory of Redis", "fanfold", "MB", peak)
	return nil
}

// joinOnce runs one job in a fresh process; memory is its largest resident set
// in MB.
func joinOnce(ctx context.Context, fanfold, config string, m *testenv.MariaDB, rows int) (took time.Duration, memory float64, err error) {
	serve := exec.CommandContext(ctx, fanfold, "-c", config, "serve", "--log-level", "warn")
	serve.Stderr = os.Stderr
	if err := serve.Start(); err != nil {
		return 0, 0, err
	}
	defer func() {
		_ = serve.Process.Signal(syscall.SIGTERM)
		if waitErr := serve.Wait(); err == nil {
			err = waitErr
		}
		if usage, ok := serve.ProcessState.SysUsage().(*syscall.Rusage); ok {
			memory = float64(usage.Maxrss) * 1024 / 1e6
		}
	}()
	db, err := m.Open("big")
	if err != nil {
		return 0, 0, err
	}
	defer db.Close()
	inserted, err := db.ExecContext(ctx, "INSERT INTO file_download_record (report) VALUES ('big')")
	if err != nil {
		return 0, 0, err
	}
	id, err := inserted.LastInsertId()
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	if err := command(ctx, io.Discard, fanfold, "-c", config, "submit", "--wait", strconv.FormatInt(id, 10)); err != nil {
		return 0, 0, err
	}
	took = time.Since(start)
	var found int
	if err := db.QueryRowContext(ctx, "SELECT row_count FROM file_download_record WHERE id = ?", id).Scan(&found); err != nil {
		return 0, 0, err
	}
	if found != rows {
		return 0, 0, fmt.Errorf("the file has %d rows, not %d", found, rows)
	}
	return took, 0, nil
}

func joinConfig(dir string, server *testenv.Redis, m *testenv.MariaDB) (string, error) {
	quoted, err := json.Marshal(map[string]any{
		"redis":     server.URL(),
		"databases": map[string]any{"big": map[string]any{"dsn": m.DSN("big")}},
		"records":   map[string]any{"database": "big"},
		"sink":      "file://" + filepath.Join(dir, "files"),
		"reports": map[string]any{"big": map[string]any{
			"stages": []any{map[string]any{"listeners": []any{
				map[string]any{"name": "big.a", "database": "big", "query": selectA},
				map[string]any{"name": "big.b", "database": "big", "query": selectB},
			}}},
			"join": map[string]any{"key": "user_id"},
			"csv": map[string]any{"columns": []any{
				"user_id", "name", "tag", "score", "level", "city", map[string]any{"column": "big.a.created_at", "label": "registered"},
				"id", "amount", "fee", "status", "note", "big.b.created_at",
			}},
		}},
	}) // JSON is YAML
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "fanfold.yaml")
	return file, os.WriteFile(file, quoted, 0o600)
}

// dump has the mariadb client write the rows of queries to a file.
func dump(ctx context.Context, m *testenv.MariaDB, query, file string) error {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer out.Close()
	host, port, _ := strings.Cut(m.Addr, ":")
	return command(ctx, out, "mariadb", "--no-defaults", "-uroot", "-h"+host, "-P"+port, "--quick", "--batch", "-e", query)
}

// redisPeak is the most memory that Redis had in use, in MB.
func redisPeak(ctx context.Context, server *testenv.Redis) (float64, error) {
	client := server.Client()
	defer client.Close()
	info, err := client.InfoMap(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	peak, err := strconv.ParseFloat(info["Memory"]["used_memory_peak"], 64)
	return peak / 1e6, err
}

func command(ctx context.Context, out io.Writer, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Stdout, c.Stderr = out, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return nil
}
