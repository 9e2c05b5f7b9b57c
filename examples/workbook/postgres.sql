-- 2,500 customers: 500 of those who have orders are not here. Some names look like formulas.
CREATE TYPE country AS ENUM ('DE', 'CN', 'GB');
CREATE TABLE customer (
  id bigint PRIMARY KEY, name text NOT NULL, country country, since date NOT NULL, discount numeric(4,3) NOT NULL
);
INSERT INTO customer
SELECT n, (ARRAY['Zoë', '李雷', '=1+1', 'Γιώργος'])[1 + n % 4] || ' ' || n, (ARRAY['DE', 'CN', 'GB', NULL])[1 + n % 4]::country,
  date '2015-01-01' + (n % 3000)::int, (n % 5) * 0.025
FROM generate_series(1, 2500) n;
