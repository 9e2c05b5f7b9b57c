package query_test

import "testing"

// nasty are tables with values that databases treat in ways of their own.
var nasty = []string{
	`CREATE TABLE o (id INT PRIMARY KEY, user_id INT, sku VARCHAR(20) COLLATE utf8mb4_nopad_bin, amount DECIMAL(12,2), n BIGINT, u BIGINT UNSIGNED, f DOUBLE, r FLOAT,
		d DATE, at DATETIME(3), t TIME, note VARCHAR(100) COLLATE utf8mb4_nopad_bin, b VARBINARY(20), j TEXT COLLATE utf8mb4_nopad_bin)`,
	`INSERT INTO o VALUES
		(1, 10, 'a', 12.50, 1, 1, 0.1, 0.1, '2024-02-29', '2024-02-29 10:11:12.345', '10:11:12', 'hello', 'x', '{"a": {"b": 1.50}, "s": "text"}'),
		(2, 10, 'b', -0.05, -9223372036854775808, 18446744073709551615, -1e300, 3.5, '2024-01-31', '1999-12-31 23:59:59.999', '-838:59:59', '', '', '[]'),
		(3, NULL, 'a', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
		(4, 11, 'A', 99999999.99, 9223372036854775807, 0, 1e-7, 16777216, '1000-01-01', '9999-12-31 00:00:00', '838:59:59', '12abc', 0xff00, 'null'),
		(5, 12, 'c ', 0.00, 0, 7, 0, -0.5, '2023-12-31', '2024-02-29 00:00:00', '00:00:00', ' 3.7 ', 'A', '{"s": null}'),
		(6, 13, 'ä', 1.005, 42, 42, 1234567.891, 2, '2024-03-01', '2024-03-31 02:30:00.001', '23:59:59', 'Ärger', 'b', '"x"')`,
	`CREATE TABLE u (id INT PRIMARY KEY, name VARCHAR(20) COLLATE utf8mb4_nopad_bin, country CHAR(2) COLLATE utf8mb4_nopad_bin, score DECIMAL(5,3))`,
	`INSERT INTO u VALUES (10, 'anna', 'DE', 1.250), (11, 'Bob', 'FR', NULL), (12, NULL, 'DE', 0.333), (14, 'Zoë', NULL, 2.000)`,
	`CREATE TABLE p (id INT PRIMARY KEY, sku VARCHAR(20) COLLATE utf8mb4_nopad_bin, title VARCHAR(20) COLLATE utf8mb4_nopad_bin, price DECIMAL(8,2))`,
	`INSERT INTO p VALUES (1, 'a', 'apple', 1.00), (2, 'a', 'avocado', 2.50), (3, 'b', 'bread', 3.00), (4, 'x', 'nothing', 0)`,
}

// TestAsMariaDB runs queries on MariaDB and as folds: the cells are the same, byte for byte.
func TestAsMariaDB(t *testing.T) {
	t.Parallel()
	b := newBench(t, nasty...)
	b.load("o", "u", "p")
	failed := 0
	for _, query := range []string{
		"SELECT * FROM o ORDER BY id",
		"SELECT id, amount + 1 AS a, amount * 2.5 AS m, amount / 3 AS q, -amount AS g, amount % 3 AS r, amount DIV 2 AS i FROM o ORDER BY id",
		"SELECT id, n % 10 AS r, n DIV 3 AS q, u % 7 AS ur FROM o ORDER BY id",
		"SELECT id, n + 1 AS x FROM o ORDER BY id", "SELECT id, u - 1 AS x FROM o ORDER BY id", "SELECT id, n - 1 AS x FROM o ORDER BY id",
		"SELECT id, f + 1 AS a, f * 3 AS m, f / 7 AS q, r * 2 AS r2, r + f AS rf FROM o ORDER BY id",
		"SELECT id, 1/3 AS a, 2/3*3 AS b, 1.5/0.7 AS c, 1/0 AS d, 5 DIV 0 AS e, 5 % 0 AS g, 7 DIV 2 AS h, -7 DIV 2 AS i, -7 % 3 AS j FROM o ORDER BY id",
		"SELECT id, note + 1 AS a, note * 1.5 AS b, note = 12 AS c, note > 0 AS d, note = '12abc' AS e FROM o ORDER BY id",
		"SELECT id, amount > 1 AS a, amount = 12.5 AS b, n < u AS c, f = r AS d, amount <=> NULL AS e, NULL <=> NULL AS g, amount <> 0 AS h FROM o ORDER BY id",
		"SELECT id, d = '2024-02-29' AS a, d < at AS b, at = '2024-02-29' AS c, at >= '2024-02-29 10:11:12.345' AS e, t > '10:00:00' AS g FROM o ORDER BY id",
		"SELECT id, amount IS NULL AS a, amount IS NOT NULL AS b, n IS TRUE AS c, n IS FALSE AS d, n IS NOT TRUE AS e, NOT n AS g, n IS UNKNOWN AS h FROM o ORDER BY id",
		"SELECT id, n AND 1 AS a, n OR 0 AS b, n XOR 1 AS c, NULL AND 0 AS d, NULL OR 1 AS e, NULL XOR 1 AS g FROM o ORDER BY id",
		"SELECT id, sku LIKE 'a%' AS a, note LIKE '%l%' AS b, note LIKE '__ger' AS c, sku NOT LIKE 'a' AS d, 'a%b' LIKE 'a\\%b' AS e, 'a_b' LIKE 'a|_b' ESCAPE '|' AS g FROM o ORDER BY id",
		"SELECT id, note REGEXP '^[0-9]+' AS a, note NOT REGEXP 'l+' AS b FROM o ORDER BY id",
		"SELECT id, user_id IN (10, 11) AS a, user_id NOT IN (10, NULL) AS b, sku IN ('a', 'b') AS c, amount IN (12.5, '0') AS d FROM o ORDER BY id",
		"SELECT id, amount BETWEEN 0 AND 20 AS a, n NOT BETWEEN -1 AND 50 AS b, d BETWEEN '2024-01-01' AND '2024-12-31' AS c FROM o ORDER BY id",
		"SELECT id, CASE user_id WHEN 10 THEN 'ten' WHEN 11 THEN 'eleven' ELSE 'other' END AS a, CASE WHEN amount > 10 THEN amount WHEN n = 0 THEN n END AS b FROM o ORDER BY id",
		"SELECT id, IF(amount > 1, amount, 0) AS a, IFNULL(user_id, -1) AS b, COALESCE(amount, score, 7) AS c, NULLIF(user_id, 10) AS d FROM o JOIN (SELECT id AS uid, score FROM u) x ON x.uid = o.user_id ORDER BY id",
		"SELECT id, LEAST(amount, 1) AS a, GREATEST(amount, n) AS b, GREATEST(id, 3) AS c FROM o ORDER BY id",
		"SELECT id, CONCAT(id, '-', amount, '-', d, '-', at, '-', t) AS a, CONCAT_WS(',', note, amount, sku) AS b, CONCAT(f) AS c, CONCAT(r) AS e FROM o ORDER BY id",
		"SELECT id, SUBSTRING(note, 2, 3) AS a, SUBSTRING(note, -3) AS b, LEFT(note, 2) AS c, RIGHT(note, 2) AS d, SUBSTRING(note, 0) AS e, MID(note, 2, 1) AS g, LEFT(amount, 3) AS h FROM o ORDER BY id",
		"SELECT id, TRIM(note) AS a, LTRIM(note) AS b, RTRIM(note) AS c, TRIM(BOTH 'h' FROM note) AS d, UPPER(note) AS e, LOWER(note) AS g, LENGTH(note) AS h, CHAR_LENGTH(note) AS i FROM o ORDER BY id",
		"SELECT id, REPLACE(note, 'l', 'LL') AS a, REVERSE(note) AS b, LPAD(note, 7, 'xy') AS c, RPAD(note, 3, 'x') AS d, INSTR(note, 'l') AS e, LOCATE('r', note) AS g, REPEAT(sku, 2) AS h FROM o ORDER BY id",
		"SELECT id, ROUND(amount) AS a, ROUND(amount, 1) AS b, ROUND(f, 2) AS c, ROUND(user_id, -1) AS d, TRUNCATE(amount, 1) AS e, ROUND(1.005, 2) AS g, ROUND(-2.5) AS h, ROUND(2.5e0) AS i, TRUNCATE(-1.99, 0) AS k FROM o WHERE id IN (1, 3, 5, 6) ORDER BY id",
		"SELECT id, FLOOR(amount) AS a, CEIL(amount) AS b, ABS(amount) AS c, FLOOR(f) AS d, ABS(user_id) AS e, SIGN(amount) AS g, CEIL(-0.5) AS h, MOD(id, 4) AS i, SQRT(4) AS k, POW(2, 10) AS l FROM o ORDER BY id",
		"SELECT id, DATE(at) AS a, YEAR(d) AS b, MONTH(d) AS c, DAY(d) AS dd, HOUR(at) AS h, MINUTE(at) AS m, SECOND(at) AS s, HOUR(t) AS th, QUARTER(d) AS q, DAYOFWEEK(d) AS w, WEEKDAY(d) AS wd, DAYOFYEAR(d) AS y FROM o ORDER BY id",
		"SELECT id, DATE_ADD(d, INTERVAL 1 DAY) AS a, DATE_ADD(d, INTERVAL 1 MONTH) AS b, DATE_SUB(at, INTERVAL 90 MINUTE) AS c, d + INTERVAL 1 YEAR AS e, DATE_ADD(d, INTERVAL 1 HOUR) AS g, DATE_ADD('2024-01-31', INTERVAL 1 MONTH) AS h, DATE_ADD('2024-01-31 10:00:00', INTERVAL 1 SECOND) AS i FROM o ORDER BY id",
		"SELECT id, DATEDIFF(at, d) AS a, DATEDIFF('2024-03-01', '2024-02-28') AS b, TIMESTAMPDIFF(HOUR, d, at) AS c, TIMESTAMPDIFF(MONTH, d, '2024-12-30') AS e, LAST_DAY(d) AS g, TO_DAYS(d) AS h FROM o ORDER BY id",
		"SELECT id, DATE_FORMAT(at, '%Y-%m-%d %H:%i:%s.%f') AS a, DATE_FORMAT(d, '%W %a %D %M %b %c %e %y %j %p %h %l %%') AS b, EXTRACT(YEAR FROM d) AS c, EXTRACT(HOUR FROM at) AS h FROM o ORDER BY id",
		"SELECT id, id/3*3 = id AS a, ROUND(2/3, 2) * 3 AS b, (1/3 + 1/3) * 3 AS c, 1/7 > 0.1428 AS e, (amount / 7) * 7 AS g, SUM(amount / 7) AS h FROM o GROUP BY id, amount ORDER BY id",
		"SELECT id, CONVERT_TZ(at, '+00:00', '+02:00') AS a FROM o ORDER BY id",
		"SELECT id, CAST(amount AS CHAR) AS a, CAST(amount AS SIGNED) AS b, CAST(note AS SIGNED) AS c, CAST(amount AS DECIMAL(5,1)) AS e, CAST(d AS DATETIME) AS g, CAST(at AS DATE) AS h, CAST(at AS TIME) AS i, CAST(f AS DECIMAL(20,3)) AS k, CAST(n AS UNSIGNED) AS l, CAST('12.7' AS SIGNED) AS m, CAST(note AS CHAR(2)) AS o FROM o ORDER BY id",
		"SELECT id, JSON_VALUE(j, '$.a.b') AS a, JSON_VALUE(j, '$.s') AS b FROM o ORDER BY id",
		"SELECT CAST('99999999999999999999' AS UNSIGNED) AS a, CAST(99999999999999999999 AS UNSIGNED) AS b, CAST(99999999999999999999.5 AS SIGNED) AS c, CAST(-1.5 AS UNSIGNED) AS d, CAST(-1 AS UNSIGNED) AS e, CAST('-1' AS UNSIGNED) AS f, CAST(1e30 AS UNSIGNED) AS g, CAST(1e30 AS SIGNED) AS h, CAST(-1e30 AS UNSIGNED) AS i FROM u WHERE id = 10",
		"SELECT CAST('-99999999999999999999' AS SIGNED) AS a, CAST('1e500' AS DECIMAL(65,2)) AS b, CAST('-1e500' AS DECIMAL(20,2)) AS c, CAST('1e-500' AS DECIMAL(20,2)) AS d, CAST('1e500' AS SIGNED) AS e, CAST(1e19 AS SIGNED) AS f, CAST(18446744073709551615 AS SIGNED) AS g, CAST(1e19 AS UNSIGNED) AS h, CAST('99999999999999999999' AS SIGNED) AS i FROM u WHERE id = 10",
		"SELECT '2024-01-05' BETWEEN DATE '2024-01-01' AND '2024-1-9' AS a, 20240105 BETWEEN DATE '2024-01-01' AND '2024-01-09' AS b, '10' BETWEEN 9 AND '9' AS c, 5 BETWEEN '3' AND 10.5 AS d, '5' BETWEEN 3 AND '10' AS e, '5x' BETWEEN '3' AND '10' AS f FROM u WHERE id = 10",
		"SELECT o.id, u.name, p.title FROM o JOIN u ON u.id = o.user_id JOIN p ON p.sku = o.sku ORDER BY o.id, p.id",
		"SELECT o.id, u.name FROM o LEFT JOIN u ON u.id = o.user_id ORDER BY o.id",
		"SELECT o.id, u.name FROM o LEFT JOIN u ON u.id = o.user_id AND u.score > 1 ORDER BY o.id",
		"SELECT o.id, u.name FROM o RIGHT JOIN u ON u.id = o.user_id ORDER BY u.id, o.id",
		"SELECT o.id, p.id AS pid FROM o JOIN p ON p.sku = o.sku AND p.price < o.amount ORDER BY o.id, p.id",
		"SELECT id, sku, title FROM (SELECT id, sku FROM o) x JOIN (SELECT sku, title FROM p) y USING (sku) ORDER BY id, title",
		"SELECT * FROM (SELECT id, sku FROM o) x LEFT JOIN (SELECT sku, title FROM p) y USING (sku) ORDER BY id, title",
		"SELECT user_id, COUNT(*) AS c, COUNT(amount) AS ca, SUM(amount) AS s, AVG(amount) AS a, MIN(amount) AS mi, MAX(at) AS ma, SUM(f) AS sf, AVG(user_id) AS au, SUM(id) AS si FROM o GROUP BY user_id ORDER BY user_id",
		"SELECT u.country, COUNT(DISTINCT o.sku) AS c, SUM(DISTINCT o.user_id) AS s, GROUP_CONCAT(o.sku ORDER BY o.id DESC SEPARATOR '/') AS g, GROUP_CONCAT(DISTINCT o.user_id ORDER BY o.user_id) AS h FROM o JOIN u ON u.id = o.user_id GROUP BY u.country ORDER BY u.country",
		"SELECT COUNT(*) AS c, SUM(amount) AS s, AVG(n) AS a, MAX(sku) AS m FROM o WHERE id > 100", "SELECT COUNT(*) AS c FROM o",
		"SELECT user_id, COUNT(*) AS c FROM o GROUP BY user_id HAVING c > 1 OR MAX(amount) > 5 ORDER BY c DESC, user_id",
		"SELECT MONTH(d) AS m, SUM(amount) + 1 AS s, SUM(amount) / COUNT(*) AS q FROM o GROUP BY MONTH(d) ORDER BY m",
		"SELECT YEAR(d) AS y, COUNT(*) AS c FROM o GROUP BY y ORDER BY y DESC", "SELECT sku, COUNT(*) FROM o GROUP BY 1 ORDER BY 2 DESC, 1",
		"SELECT DISTINCT user_id FROM o ORDER BY user_id", "SELECT DISTINCT sku, user_id IS NULL AS x FROM o ORDER BY sku DESC, x",
		"SELECT id FROM o ORDER BY amount DESC, id LIMIT 2 OFFSET 1", "SELECT id, amount FROM o ORDER BY 2, 1 LIMIT 3", "SELECT id FROM o ORDER BY amount IS NULL, -amount LIMIT 4",
		"SELECT id, 'o' AS k FROM o UNION ALL SELECT id, 'user' FROM u ORDER BY id, k", "SELECT user_id FROM o UNION SELECT id FROM u ORDER BY user_id",
		"SELECT amount FROM o UNION ALL SELECT score FROM u ORDER BY amount", "SELECT id, amount FROM o WHERE id < 3 UNION ALL SELECT id, NULL FROM u ORDER BY 1",
		"(SELECT id FROM o ORDER BY id DESC LIMIT 2) UNION ALL (SELECT id FROM u ORDER BY id LIMIT 1) ORDER BY id",
		"SELECT x.c, COUNT(*) AS n FROM (SELECT user_id, COUNT(*) AS c FROM o GROUP BY user_id) x GROUP BY x.c ORDER BY x.c",
		"SELECT o.id, x.total FROM o JOIN (SELECT sku, SUM(price) AS total FROM p GROUP BY sku) x ON x.sku = o.sku WHERE x.total > 3 ORDER BY o.id",
		"SELECT id, x'4142' AS h, DATE '2024-02-29' AS d, TIMESTAMP '2024-02-29 10:00:00' AS ts, TRUE AS t, NULL AS n, 1e3 AS e, 1.50 AS dd, 'it''s' AS s FROM u ORDER BY id",
		"SELECT 18446744073709551615 + 0.0 AS a, 9223372036854775807 + 0 AS b, 99999999999999999999 AS c, 12345678901234567890123456789012345.678 * 10 AS d FROM u WHERE id = 10",
	} {
		if diff := b.compare(query, 0); diff != "" {
			t.Error(diff)
			failed++
		}
	}
	t.Logf("%d differ", failed)
}
