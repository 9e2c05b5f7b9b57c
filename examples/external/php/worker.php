<?php
// A worker of an external listener over HTTP: it returns scores of the users that an earlier stage has found.
// You can kill it at any time, and run any number of copies at once. It needs PHP 8 and no extension or package.
//
//     SCORES_TOKEN=… php worker.php http://127.0.0.1:8080

declare(strict_types=1);

const LISTENER = 'vendor.scores';
const PAGE = 1000; // rows

$api = rtrim($argv[1] ?? 'http://127.0.0.1:8080', '/');
$token = getenv('SCORES_TOKEN') ?: exit("set SCORES_TOKEN to the token of the listener\n");
if (!preg_match('#^https?://[^/]+#', $api, $server)) {
    exit("not a URL: $api\n");
}

/** The task has ended, or another worker has it. */
class Gone extends Exception {}

/** An error that every try would repeat. */
class Permanent extends Exception {}

/** Sends one request, and returns the status and the answer. The status is 0 if there is no whole answer. */
function send(string $method, string $url, string $body): array
{
    global $token;
    $context = stream_context_create(['http' => [
        'method' => $method, 'content' => $body, 'timeout' => 60, 'ignore_errors' => true,
        'header' => "Authorization: Bearer $token\r\nContent-Type: application/json\r\n",
    ]]);
    $http_response_header = [];
    $answer = @file_get_contents($url, false, $context);
    preg_match('#^HTTP/\S+ (\d+)#', $http_response_header[0] ?? '', $status);
    return $answer === false ? [0, ''] : [(int)($status[1] ?? 0), $answer];
}

/** Sends a request about a task until it has its effect. A repeated request has no further effect. */
function insist(string $method, string $url, mixed $body = null): mixed
{
    $text = $body === null ? '' : json_encode($body, JSON_THROW_ON_ERROR);
    while (true) {
        [$status, $answer] = send($method, $url, $text);
        switch (true) {
            case $status >= 200 && $status < 300:
                return $answer === '' ? null : json_decode($answer, true, 512, JSON_THROW_ON_ERROR | JSON_BIGINT_AS_STRING);
            case $status === 410:
                throw new Gone($answer);
            case $status >= 400 && $status < 500 && $status !== 429:
                throw new Permanent("$method $url: $status $answer");
        }
        fwrite(STDERR, "$method: $status $answer; retrying in a second\n");
        sleep(1);
    }
}

/** The values of a column that an earlier stage has found, page by page, without nulls and duplicates. */
function values(array $task, string $listener, string $column): Generator
{
    global $server;
    $seen = [];
    foreach ($task['values'] as $from) {
        for ($page = 0; $from['listener'] === $listener && $page < $from['pages']; $page++) {
            foreach (insist('GET', "$server[0]$from[url]/$column/$page") as $value) {
                if ($value !== null && !isset($seen[$value])) {
                    $seen[$value] = true;
                    yield $value;
                }
            }
        }
    }
}

/** The score of a user. Replace it with your own code. */
function score(int $user, array $parameters): string
{
    if ($parameters['from'] > '2100') {
        throw new Permanent("there are no scores from $parameters[from] on");
    }
    return number_format($user * 1.5, 2, '.', '');
}

/** Works on one task. */
function work(array $task): void
{
    global $server;
    $url = $server[0] . $task['task'];
    $rows = [];
    $page = 0;
    $said = microtime(true);
    foreach (values($task, 'shop.users', 'user_id') as $user) {
        $rows[] = [$user, score($user, $task['parameters'])];
        if (count($rows) === PAGE) {
            insist('PUT', "$url/rows/$page", $rows);
            $page++;
            $rows = [];
            $said = microtime(true);
        } elseif (microtime(true) - $said > $task['silence_ms'] / 3000) {
            insist('POST', "$url/alive");
            $said = microtime(true);
        }
    }
    if ($rows !== []) {
        insist('PUT', "$url/rows/$page", $rows);
        $page++;
    }
    insist('POST', "$url/done", ['pages' => $page]);
}

while (true) {
    [$status, $answer] = send('POST', "$api/api/v1/tasks/" . LISTENER . '/claim?wait=20s', '');
    if ($status !== 200) {
        if ($status !== 204) { // 204: there is no task now
            fwrite(STDERR, "claim: $status $answer; retrying in a second\n");
            sleep(1);
        }
        continue;
    }
    $task = json_decode($answer, true, 512, JSON_THROW_ON_ERROR | JSON_BIGINT_AS_STRING);
    try {
        try {
            work($task);
        } catch (Permanent $error) {
            insist('POST', "$server[0]$task[task]/failed", ['error' => $error->getMessage(), 'permanent' => true]);
        }
    } catch (Gone $error) {
        fwrite(STDERR, "the task has ended: {$error->getMessage()}\n");
    }
}
