-- 20,000 orders of 3,000 customers, over most of a year. The table seq_1_to_20000 is MariaDB's.
CREATE TABLE purchase (
  id BIGINT UNSIGNED PRIMARY KEY, invoice BIGINT UNSIGNED NOT NULL, customer_id BIGINT UNSIGNED NOT NULL,
  amount DECIMAL(10,2) NOT NULL, ordered_at DATETIME NOT NULL, KEY (ordered_at)
);
INSERT INTO purchase
SELECT seq, 2024000000000000 + seq, 1 + seq * 7919 % 3000, (seq * 37 % 100000) / 100 + 1,
  '2024-01-01' + INTERVAL seq * 26 MINUTE
FROM seq_1_to_20000;
