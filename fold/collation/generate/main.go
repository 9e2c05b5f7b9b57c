// Command generate writes the weights of collations, which it asks a MariaDB and a MySQL server for:
//
//	go run ./fold/collation/generate -mariadb DSN -mysql DSN
//
// The sequences of characters that may have weights of their own are those of the Default Unicode Collation Element
// Table, allkeys.txt (https://www.unicode.org/reports/tr10/), of which Perl brings a copy.
package main

import (
	"bufio"
	"database/sql"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	_ "github.com/go-sql-driver/mysql"
	"github.com/klauspost/compress/zstd"

	"github.com/fanfold/fanfold/fold/collation"
)

func main() {
	mariadb := flag.String("mariadb", "", "DSN of a MariaDB server, 10.10 or later")
	mysql := flag.String("mysql", "", "DSN of a MySQL server, 8.0 or later")
	keys := flag.String("keys", "/usr/share/perl/*/Unicode/Collate/allkeys.txt", "file with the sequences")
	out := flag.String("out", "fold/collation/weights.zst", "file to write")
	flag.Parse()
	if err := run(*mariadb, *mysql, *keys, *out); err != nil {
		log.Fatal(err)
	}
}

func run(mariadb, mysql, keys, out string) error {
	sequences, err := readSequences(keys)
	if err != nil {
		return err
	}
	var all []byte
	for _, name := range collation.Weighted {
		dsn := mariadb
		if strings.Contains(name, "_0900_") {
			dsn = mysql
		}
		db, err := sql.Open("mysql", dsn)
		if err != nil {
			return err
		}
		all, err = appendTable(all, server{db, name}, sequences)
		_ = db.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		return err
	}
	return os.WriteFile(out, encoder.EncodeAll(all, nil), 0o644)
}

// readSequences reads the sequences of several characters.
func readSequences(pattern string) ([]string, error) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no file %s: install perl, or name one with -keys", pattern)
	}
	f, err := os.Open(files[0])
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var sequences []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		codes, _, ok := strings.Cut(lines.Text(), ";")
		fields := strings.Fields(codes)
		if !ok || len(fields) < 2 || strings.HasPrefix(codes, "@") {
			continue
		}
		var text []byte
		for _, field := range fields {
			n, err := strconv.ParseInt(field, 16, 32)
			if err != nil {
				return nil, err
			}
			text = utf8.AppendRune(text, rune(n))
		}
		sequences = append(sequences, string(text))
	}
	return sequences, nil
}

// appendTable appends the table of a collation.
func appendTable(dst []byte, s server, sequences []string) ([]byte, error) {
	chars := make([]string, utf8.MaxRune+1)
	for i := range chars {
		chars[i] = string(rune(i)) // a surrogate is U+FFFD, and never occurs
	}
	single, err := s.weights(chars)
	if err != nil {
		return nil, err
	}
	found, err := s.weights(sequences)
	if err != nil {
		return nil, err
	}
	var contractions []collation.Weights
	for _, w := range found {
		var sum []uint16
		for _, char := range w.Text {
			sum = append(sum, single[char].Weights...)
		}
		if !slices.Equal(sum, w.Weights) {
			contractions = append(contractions, w)
		}
	}
	log.Printf("%s: %d contractions", s.collation, len(contractions))
	return collation.Append(dst, s.collation, single, contractions), nil
}

// server asks for the weights of a collation.
type server struct {
	db        *sql.DB
	collation string
}

// weights returns the weights of texts. A text that the character set lacks has those of U+FFFD's replacement.
func (s server) weights(texts []string) ([]collation.Weights, error) {
	set, _, _ := strings.Cut(s.collation, "_")
	all := make([]collation.Weights, 0, len(texts))
	for part := range slices.Chunk(texts, 1000) {
		columns := make([]string, len(part))
		found, targets := make([][]byte, len(part)), make([]any, len(part))
		for i, text := range part {
			columns[i] = fmt.Sprintf("WEIGHT_STRING(CONVERT(_utf8mb4 x'%x' USING %s) COLLATE %s)", text, set, s.collation)
			targets[i] = &found[i]
		}
		if err := s.db.QueryRow("SELECT " + strings.Join(columns, ", ")).Scan(targets...); err != nil {
			return nil, err
		}
		for i, bytes := range found {
			w := collation.Weights{Text: part[i]}
			if set == "latin1" { // a byte a character
				for _, b := range bytes {
					w.Weights = append(w.Weights, uint16(b))
				}
				bytes = nil
			}
			for ; len(bytes) >= 2; bytes = bytes[2:] {
				w.Weights = append(w.Weights, uint16(bytes[0])<<8|uint16(bytes[1]))
			}
			all = append(all, w)
		}
	}
	return all, nil
}
