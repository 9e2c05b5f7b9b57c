-- Sample data of fanfold demo: 20,000 users with names in several scripts, 60,000 withdrawals and
-- 80,000 payments. The tables seq_1_to_n are MariaDB's; on MySQL, others take their place.
CREATE DATABASE plt_user CHARACTER SET utf8mb4;
CREATE DATABASE plt_fund CHARACTER SET utf8mb4;

USE plt_user;

CREATE TABLE plt_user.vs_user (
  id BIGINT UNSIGNED PRIMARY KEY, name VARCHAR(100) NOT NULL
);
INSERT INTO plt_user.vs_user
SELECT seq, CONCAT(ELT(1 + seq % 8, 'Zoë', '李雷', 'Мария', 'محمد', 'अनीता', 'Γιώργος', '鈴木', 'O''Brien, "Pat"'), ' ', seq)
FROM seq_1_to_20000;

CREATE TABLE plt_user.vs_user_tag_relation (
  user_id BIGINT UNSIGNED NOT NULL, tag VARCHAR(30) NOT NULL, PRIMARY KEY (user_id, tag), KEY (tag)
);
INSERT INTO plt_user.vs_user_tag_relation
SELECT seq, ELT(1 + seq % 3, 'vip', 'new', 'dormant') FROM seq_1_to_20000;

CREATE TABLE plt_fund.vs_withdraw (
  id BIGINT UNSIGNED PRIMARY KEY, user_id BIGINT UNSIGNED NOT NULL, amount DECIMAL(18,2) NOT NULL,
  status VARCHAR(10) NOT NULL, created_at DATETIME NOT NULL, KEY (created_at), KEY (user_id)
);
INSERT INTO plt_fund.vs_withdraw
SELECT seq, 1 + seq * 7919 % 20000, (seq * 37 % 100000) / 100 + 1, ELT(1 + seq % 3, 'done', 'open', 'refused'),
  '2023-11-01' + INTERVAL seq * 13 MINUTE
FROM seq_1_to_60000;

CREATE TABLE plt_fund.vs_payment (
  id BIGINT UNSIGNED PRIMARY KEY, user_id BIGINT UNSIGNED NOT NULL, amount DECIMAL(18,2) NOT NULL, KEY (user_id)
);
INSERT INTO plt_fund.vs_payment
SELECT seq, 1 + seq * 6101 % 18000, (seq * 91 % 50000) / 100 + 1 FROM seq_1_to_80000;
