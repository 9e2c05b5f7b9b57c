package query_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestJSONValue: JSON_VALUE finds what MariaDB finds, with the same path, also in documents that are wrong.
func TestJSONValue(t *testing.T) {
	t.Parallel()
	documents := []string{`{"a":1,"a":2}`, `{"a":1, "b":`, `{"g h":7}`, `{"a":5}`, `5`, `{"a":{"b":1}}`, `{"a":[1,2]}`, `{"a":[[1,2]]}`, `{"a":null}`, `{"a":null,"a":1}`, `{"a":true}`, `{"a":1.50}`, `{"a":1e5}`,
		`{"a" 1}`, `{"b":tru,"a":1}`, `{"b":{,"a":1}`, `{"a":"x`, `{"a":[1,2`, `{"a":12`, `{"a":{"b":1},"a":{"c":2}}`, `{"a":{"b":1},"a":3}`, ` {"a":1}x`, `{"\\u0061":1}`, `{"a":-0}`, `{"a":""}`, ``, `{"a":1,}`, `[1,2]`,
		`{"é":1}`, `{"a":{"x":1}}`, `{"a-b":1}`, `{"a":false}`, `{"a":[]}`, `{"a":{}}`, `{"a":{"b":3}}`, `[[1]]`, `{"":4}`, `[{"a":1},{"a":2}]`, `"x"`, `{"a":"ä\\n\\u00e9"}`, `{"x":{"a":9},"a":1}`, `[null,3]`, `nul`}
	statements := []string{"CREATE TABLE j (id INT PRIMARY KEY, d TEXT)"}
	for i, d := range documents {
		statements = append(statements, fmt.Sprintf("INSERT INTO j VALUES (%d, '%s')", i, d))
	}
	b := newBench(t, statements...)
	b.load("j")
	for _, path := range []string{"$", "$.a", `$."g h"`, `$."a"`, `$."a-b"`, `$.""`, "$.a[0]", "$.a[1]", "$[0]", "$[1]", "$[0].a", "$[1].a", "$[0][0].a[0]", "$.a[0][1]", "$.a.b", "$.a.c", "$.a[0].b", "$.é", "$.A", `$.a."x"`, `$."x".a`} {
		if diff := b.compare(fmt.Sprintf("SELECT id, JSON_VALUE(d, '%s') AS x FROM j ORDER BY id", path), 0); diff != "" {
			t.Error(diff)
		}
	}
	if _, _, err := b.run("SELECT JSON_VALUE(d, '$.a b') AS x FROM j", 0); err == nil || !strings.Contains(err.Error(), `$."first name"`) {
		t.Error(err)
	}
	_, rows, err := b.run("SELECT JSON_VALUE(d, '$[''g h'']') AS x FROM j WHERE id = 2", 0) // the form of RFC 9535
	if err != nil || len(rows) != 1 || rows[0] != `"7"` {
		t.Error(rows, err)
	}
}
