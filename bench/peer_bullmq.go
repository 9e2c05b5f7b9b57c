package main

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// bullMQ is a node process with bullmq/peer.js, which says how it works. On two
// cores, beside Redis, a second process does not make it faster.
type bullMQ struct{ *child }

var _ delayer = bullMQ{}

// missingBullMQ installs BullMQ where node and npm are.
func missingBullMQ(ctx context.Context) error { return npmInstall(ctx, "bullmq") }

// npmInstall installs what the package.json in a folder names, where node and npm are.
func npmInstall(ctx context.Context, folder string) error {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return err
		}
	}
	// Not ci, which refuses a lock file that names one of its optional binaries for
	// Linux only.
	return command(ctx, os.Stderr, "npm", "install", "--no-save", "--prefix", folder, "--loglevel", "error",
		"--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund")
}

func startBullMQ(ctx context.Context, s servers, listeners int) (peer, error) {
	_, port, _ := strings.Cut(s.redis.Addr, ":")
	cmd := exec.CommandContext(ctx, "node", "peer.js", port, strconv.Itoa(listeners))
	cmd.Dir = "bullmq"
	c, err := startChild(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return bullMQ{c}, nil
}

func (p bullMQ) push(ctx context.Context, ids []string) error {
	return p.add(ctx, childCommand{Push: ids})
}

func (p bullMQ) pushAt(ctx context.Context, id string, at time.Time) error {
	return p.add(ctx, childCommand{Push: []string{id}, At: at.UnixMilli()})
}

// hash is the parent's; that of the values goes with it.
func (bullMQ) hash(id string) string { return "bull:folds:" + id }
