package main

import (
	"database/sql/driver"
	"errors"
	"net"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"github.com/fanfold/fanfold/config/decode"
	"github.com/fanfold/fanfold/engine"
	"github.com/fanfold/fanfold/internal/mysqldb"
	"github.com/fanfold/fanfold/scripts"
)

// The exit codes, which scripts rely on.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitJobFailed   = 4
	exitUnreachable = 5
)

// coded is an error that knows its exit code.
type coded struct {
	error
	code int
}

func (c coded) Unwrap() error { return c.error }

func usage(err error) error       { return coded{err, exitUsage} }
func jobFailed(err error) error   { return coded{err, exitJobFailed} }
func unreachable(err error) error { return coded{err, exitUnreachable} }

// exitCode finds the code that an error stands for.
func exitCode(err error) int {
	var c coded
	var problems decode.Problems
	var network net.Error
	switch {
	case errors.As(err, &c):
		return c.code
	case errors.As(err, &problems):
		return exitUsage
	case errors.Is(err, engine.ErrNoRecord), errors.Is(err, scripts.ErrNoTimer):
		return exitNotFound
	case refusesLogin(err), errors.As(err, &network), errors.Is(err, driver.ErrBadConn), errors.Is(err, mysql.ErrInvalidConn):
		return exitUnreachable
	case strings.HasPrefix(err.Error(), "unknown command"):
		return exitUsage
	}
	return exitFailure
}

// refusesLogin tells whether a server is there and does not let this account in.
func refusesLogin(err error) bool {
	return mysqldb.Refused(err) || redis.HasErrorPrefix(err, "NOAUTH") || redis.HasErrorPrefix(err, "WRONGPASS")
}
