// Command workbook is make demo FULL=1: it runs the report of this folder, which joins MySQL with PostgreSQL and writes
// a workbook to S3, on private servers that it starts and stops.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	flags := flag.NewFlagSet("workbook", flag.ExitOnError)
	d := demo{out: os.Stdout}
	flags.StringVar(&d.fanfold, "fanfold", "./fanfold", "the command fanfold")
	flags.StringVar(&d.config, "config", "examples/workbook/fanfold.yaml", "configuration")
	flags.StringVar(&d.dir, "dir", "out/demo", "folder for the workbook and the log")
	flags.BoolVar(&d.keep, "keep", false, "keep the servers until Ctrl-C, and print commands to try")
	_ = flags.Parse(os.Args[1:]) // it ends the process
	err := d.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "workbook:", err)
		os.Exit(1)
	}
}

// demo is one run of the example.
type demo struct {
	fanfold string // the command
	config  string
	dir     string // is not deleted
	keep    bool
	out     io.Writer
	env     []string // of the commands
}

func (d *demo) run(ctx context.Context) (err error) {
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return err
	}
	d.say("Starting a private redis-server, mariadbd and postgres, with sample data in shop and crm …")
	servers, err := start(ctx)
	if err != nil {
		return err
	}
	defer servers.stop()
	d.env = servers.env
	d.say("For S3, this stands in: %s\n", servers.store)
	if err := d.command(ctx, "migrate"); err != nil {
		return err
	}
	site, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	ended, err := d.serve(ctx, stop, site)
	if err != nil {
		return err
	}
	defer func() {
		stop(context.Canceled)
		err = errors.Join(err, <-ended)
	}()
	book := filepath.Join(d.dir, "orders.xlsx")
	if err := d.command(ctx, "run", "orders", "--param", "from=2024-03-01", "--file", book); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	if err := d.show(book); err != nil {
		return err
	}
	if d.keep {
		d.say(`
Fanfold and its servers run until you press Ctrl-C. The dashboard is http://%s/. Try in another terminal:
  export FANFOLD_CONFIG=%s %s
  %[4]s doctor
  %[4]s url 1     # a link to the file, for 15 minutes`, site, d.config, strings.Join(quoted(d.env), " "), d.fanfold)
		<-ctx.Done()
	}
	return nil
}

// quoted quotes settings of variables for a shell.
func quoted(env []string) []string {
	out := make([]string, len(env))
	for i, setting := range env {
		out[i] = "'" + setting + "'"
	}
	return out
}

// freeAddress returns a free host:port of the loopback interface.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// process returns a command of fanfold, which ends with ctx.
func (d *demo) process(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, d.fanfold, append(args, "--config", d.config)...)
	c.Env = append(os.Environ(), d.env...)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = time.Minute
	return c
}

// command prints and runs a command of fanfold.
func (d *demo) command(ctx context.Context, args ...string) error {
	d.say("$ fanfold %s", strings.Join(args, " "))
	c := d.process(ctx, args...)
	c.Stdout, c.Stderr = d.out, d.out
	if err := c.Run(); err != nil {
		return fmt.Errorf("fanfold %s: %w", args[0], err)
	}
	return nil
}

// serve starts fanfold serve with its dashboard. It cancels ctx if that ends by itself, and sends how it ended.
func (d *demo) serve(ctx context.Context, cancel context.CancelCauseFunc, site string) (<-chan error, error) {
	log, err := os.Create(filepath.Join(d.dir, "serve.log"))
	if err != nil {
		return nil, err
	}
	c := d.process(ctx, "serve", "--http", site)
	c.Stderr = log
	if err := c.Start(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	end := make(chan error, 1)
	go func() {
		err := c.Wait()
		if ctx.Err() != nil {
			err = nil // a signal has ended it
		} else {
			cancel(fmt.Errorf("fanfold serve has ended; see %s", log.Name()))
		}
		end <- errors.Join(err, log.Close())
	}()
	return end, nil
}

// show prints the sheets of a workbook with their first rows.
func (d *demo) show(book string) error {
	sheets, err := read(book)
	if err != nil {
		return fmt.Errorf("read %s: %w", book, err)
	}
	d.say("\n%s has", book)
	for _, s := range sheets {
		d.say("  the sheet %s with %d rows, including the header:\n", s.name, len(s.rows))
		for _, row := range s.rows[:min(6, len(s.rows))] {
			texts := make([]string, len(row))
			for i, c := range row {
				texts[i] = c.String()
			}
			d.say("  %s", strings.Join(texts, " | "))
		}
		d.say("  …")
	}
	return nil
}

func (d *demo) say(format string, args ...any) { fmt.Fprintf(d.out, format+"\n", args...) }
