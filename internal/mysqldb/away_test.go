package mysqldb

import (
	"database/sql/driver"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
)

func TestAway(t *testing.T) {
	t.Parallel()
	for _, err := range []error{driver.ErrBadConn, mysql.ErrInvalidConn, fmt.Errorf("dial: %w", driver.ErrBadConn)} {
		if !Away(err) {
			t.Errorf("%v: not away", err)
		}
	}
	for number, want := range map[uint16]bool{
		1040: true, 1045: true, 1053: true, 1203: true, 1226: true, 1290: true, 3032: true,
		1054: false, 1062: false, 1064: false, 1146: false, 1213: false, 1406: false,
	} {
		if err := fmt.Errorf("insert: %w", &mysql.MySQLError{Number: number}); Away(err) != want {
			t.Errorf("%d: %v", number, !want)
		}
	}
	for number, want := range map[uint16]bool{1044: true, 1045: true, 1049: true, 1130: true, 1698: true, 1040: false, 1142: false} {
		if err := fmt.Errorf("ping: %w", &mysql.MySQLError{Number: number}); Refused(err) != want {
			t.Errorf("%d: refused %v", number, !want)
		}
	}
	if Refused(nil) || Refused(driver.ErrBadConn) {
		t.Error("no answer is no refusal")
	}
	if Away(nil) {
		t.Error("no error is away")
	}
}
